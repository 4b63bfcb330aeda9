/** A rule about what the library offers: whoever looks up a name finds what its type cannot say. */
import { normalize } from 'node:path/posix'
import { type Finding, lineAt, type Rule, type Source } from './sources.ts'

const index = 'src/index.ts'
const offers = /^export\s+(?:type\s+)?\{(?<names>[^}]*)\}\s*from\s+'(?<from>[^']+)'/gm

export const libraryDocumented: Rule = (sources) => {
  const offered = sources.find(({ path }) => path === index)?.text ?? ''
  return [...offered.matchAll(offers)].flatMap(({ groups }) => {
    const from = normalize(`src/${groups?.from}`)
    const source = sources.find(({ path }) => path === from)
    const names = (groups?.names ?? '')
      .split(',')
      .map((name) => name.replace(/\btype\b/, '').trim())
    return names.filter((name) => name !== '').flatMap((name) => judge(name, from, source))
  })
}

function judge(name: string, path: string, source: Source | undefined): Finding[] {
  const declared = new RegExp(
    `^export (?:async )?(?:function\\*?|const|class|interface|type) ${name}\\b`,
    'm',
  ).exec(source?.text ?? '')
  if (!source || !declared) return [{ path, line: 1, message: `${index} offers ${name} of it` }]
  if (/\*\/\n$/.test(source.text.slice(0, declared.index))) return []
  const message = `${name} is offered by the library: say in a docstring what its type cannot`
  return [{ path, line: lineAt(source.text, declared.index), message }]
}
