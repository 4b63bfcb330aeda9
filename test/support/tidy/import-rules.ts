/** Rules about how files hang together: which may import which, and that none hangs loose. */
import {
  type Finding,
  findEach,
  isTypeScript,
  type Reference,
  type Rule,
  referencesOf,
  type Source,
} from './sources.ts'

/** What each top folder may import, itself included. */
const topFolders: Readonly<Record<string, readonly string[]>> = {
  src: ['src'],
  protocol: ['protocol', 'src'],
  actors: ['actors', 'protocol', 'src'],
  supervisors: ['supervisors', 'actors', 'protocol', 'src'],
  test: ['test', 'supervisors', 'actors', 'protocol', 'src'],
}

/** What each folder of `src/` may import of the others; the files at its top are for all. */
const sourceFolders: Readonly<Record<string, readonly string[]>> = {
  tensor: [],
  dataset: [],
  store: [],
  config: [],
  safetensors: ['tensor'],
  spool: [],
  manifest: ['store'],
  checkpoint: ['manifest', 'models', 'safetensors', 'store', 'tensor'],
  'dev-s3': ['store'],
  audit: [
    'checkpoint',
    'dataset',
    'manifest',
    'run',
    'safetensors',
    'sample',
    'spool',
    'store',
    'tensor',
  ],
  run: ['config', 'dataset', 'models', 'store'],
  graph: ['tensor'],
  autodiff: ['graph', 'tensor'],
  optim: ['graph', 'tensor'],
  models: ['autodiff', 'graph', 'safetensors', 'tensor'],
  training: ['autodiff', 'config', 'graph', 'models', 'optim', 'session', 'tensor'],
  session: ['graph', 'tensor'],
  decode: ['dataset', 'graph', 'models', 'safetensors', 'session', 'tensor'],
  sample: ['dataset', 'models', 'safetensors', 'spool', 'tensor'],
  demo: ['dataset', 'models'],
  feed: ['dataset', 'manifest', 'models', 'safetensors', 'sample', 'spool', 'store', 'tensor'],
  export: [
    'checkpoint',
    'feed',
    'config',
    'dataset',
    'manifest',
    'models',
    'run',
    'safetensors',
    'spool',
    'store',
    'tensor',
  ],
}

/** The same of `supervisors/`: a run is shown, and used, by what lies above it. */
const supervisorFolders: Readonly<Record<string, readonly string[]>> = {
  engine: [],
  run: ['engine'],
  display: ['run'],
  check: ['run'],
  keeping: ['run'],
  bench: ['engine', 'run'],
  drills: ['run'],
  cli: ['commands', 'keeping'],
  commands: ['bench', 'check', 'display', 'drills', 'keeping', 'run'],
}

type Arrow = Reference & { readonly from: string }

const importsOf = (sources: readonly Source[]): Arrow[] =>
  sources
    .filter(isTypeScript)
    .flatMap((source) => referencesOf(source).map((found) => ({ ...found, from: source.path })))
    .filter((found) => found.kind === 'import')

/** A rule that looks at one import at a time, and says what is wrong with it. */
const importRule =
  (judge: (arrow: Arrow) => string | undefined): Rule =>
  (sources) =>
    importsOf(sources).flatMap((arrow): Finding[] => {
      const message = judge(arrow)
      return message === undefined ? [] : [{ path: arrow.from, line: arrow.line, message }]
    })

/** The first folder of a path, where it is one of the project's own. */
const topOf = (path: string): string | undefined =>
  path.endsWith('.ts')
    ? Object.keys(topFolders).find((top) => path.startsWith(`${top}/`))
    : undefined

export const importArrows: Rule = importRule(({ from, target }) => {
  const [fromTop, targetTop] = [topOf(from), topOf(target)]
  if (fromTop === undefined || targetTop === undefined) return undefined
  if (topFolders[fromTop]?.includes(targetTop)) return undefined
  return `${fromTop}/ may not import ${targetTop}/ (${target}): move what is shared down the arrow`
})

/** A rule for the folders of one top folder; files at its top import, and are imported, freely. */
function folderArrows(top: string, rows: Readonly<Record<string, readonly string[]>>): Rule {
  const folderOf = (path: string): string | undefined => {
    const [first, folder, ...rest] = path.split('/')
    return first === top && rest.length > 0 ? folder : undefined
  }
  return importRule(({ from, target }) => {
    const [folder, other] = [folderOf(from), folderOf(target)]
    if (folder === undefined || other === undefined || folder === other) return undefined
    const allowed = rows[folder]
    if (allowed === undefined) return `${top}/${folder}/ has no row here: decide what it may know`
    if (allowed.includes(other)) return undefined
    return `${top}/${folder}/ may not know ${top}/${other}/ (${target}): pass it in, or move it`
  })
}

export const sourceArrows = folderArrows('src', sourceFolders)
export const supervisorArrows = folderArrows('supervisors', supervisorFolders)

export const sourceKnowsNoThread: Rule = importRule(({ from, target }) =>
  from.startsWith('src/') && ['node:worker_threads', 'comlink', 'xstate'].includes(target)
    ? `src/ is a library and knows no thread, message or machine: ${target} belongs above it`
    : undefined,
)

const actorOf = (path: string): string | undefined =>
  /^actors\/(?<actor>[^/]+)\//.exec(path)?.groups?.actor

export const actorsApart: Rule = importRule(({ from, target }) => {
  const [actor, other] = [actorOf(from), actorOf(target)]
  if (actor === undefined || other === undefined || actor === other) return undefined
  return `actor ${actor} may not import actor ${other}: ask it through a contract in protocol/`
})

/** What the console says and understands is for both; a bench measures the parts themselves. */
export const actorsByIndex: Rule = importRule(({ from, target }) =>
  from.startsWith('supervisors/') &&
  !from.startsWith('supervisors/bench/') &&
  ![undefined, 'console'].includes(actorOf(target)) &&
  !target.endsWith('/index.ts')
    ? `${target} is the actor's own: start it by its index.ts, and move what is shared into src/`
    : undefined,
)

export const workersNotImported: Rule = importRule(({ from, target }) =>
  from.startsWith('supervisors/') && /^actors\/.*\/worker\.ts$/.test(target)
    ? `${target} runs on its own thread: name it in the child spec by URL, do not import it`
    : undefined,
)

const isProduct = (source: Source): boolean =>
  isTypeScript(source) && !source.path.startsWith('test/')

/** The bridge hands on what it does not look into. */
const postsMessages = ['protocol/channel.ts', 'protocol/bridge.ts']

export const channelAlone: Rule = (sources) => [
  ...importRule(({ from, target }) =>
    target.split('/')[0] === 'comlink' && from !== 'protocol/channel.ts'
      ? 'comlink is confined to protocol/channel.ts: use connect() and serve()'
      : undefined,
  )(sources),
  ...sources
    .filter((source) => isProduct(source) && !postsMessages.includes(source.path))
    .flatMap((source) =>
      findEach(source, /\.postMessage\b/g, 'code', () => {
        return 'only protocol/channel.ts posts messages: declare a request in a contract'
      }),
    ),
]

/** Entries are the compiled files that package.json names, every `main.ts`, and the tests. */
export const noOrphans: Rule = (sources) => {
  const modules = new Map(sources.filter(isTypeScript).map((source) => [source.path, source]))
  const manifest = sources.find((source) => source.path === 'package.json')?.text ?? ''
  const named = [...manifest.matchAll(/\b(?:build|dist)\/(?<path>[\w/-]+)\.js\b/g)]
  const entries = named.map((match) => `${match.groups?.path}.ts`)
  const reached = new Set<string>()
  const toVisit = [...modules.keys()].filter(
    (path) => entries.includes(path) || /\/main\.ts$|\.test\.ts$/.test(path),
  )
  for (let path = toVisit.pop(); path !== undefined; path = toVisit.pop()) {
    const source = modules.get(path)
    if (source === undefined || reached.has(path)) continue
    reached.add(path)
    toVisit.push(...referencesOf(source).map((found) => found.target))
  }
  return [...modules.keys()]
    .filter((path) => !reached.has(path))
    .map((path) => ({
      path,
      line: 1,
      message: 'no entry leads here: import it, or delete it',
    }))
}
