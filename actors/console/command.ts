import { nearest } from '../../src/config/errors.ts'
import { actorIds } from './actor-ids.ts'
import { type Command, commands, orders, refused } from './commands.ts'
import type { Desk, Hearing } from './desk.ts'

/** The console: a line in, a question to the root, an answer out. */

const help: Command = {
  usage: 'help [COMMAND]',
  help: 'this list, or more of one',
  takes: 'command',
  run: async (_, [name]) => (name === undefined ? listed() : helpOf(name)),
}

const all: Readonly<Record<string, Command>> = { ...commands, help }

/** By its first word; undefined where that is none. */
function commandOf(word: string): Command | undefined {
  return Object.hasOwn(all, word) ? all[word] : undefined
}

/** Whether the line's command may last; false where it is none. */
export const lasts = (line: string): boolean => commandOf(wordsOf(line)[0])?.lasts ?? false

/** What is said to one who waits no more for the line's command, where it goes on without him. */
export const goesOn = (line: string): string | undefined => commandOf(wordsOf(line)[0])?.goesOn

/** Whether it is to change something, not only to show it, as `set` alone does. */
export function isOrder(line: string): boolean {
  const words = wordsOf(line)
  return Object.hasOwn(orders, words[0]) && !(words[0] === 'set' && words.length === 1)
}

const wordsOf = (line: string): string[] => line.trim().split(/\s+/)

/**
 * Runs one line.
 *
 * @returns  what to print
 * @throws   Failure `invalid`: no such command, actor or setting, with the nearest there is
 */
export async function runLine(desk: Desk, line: string, hearing: Hearing): Promise<string> {
  const [word, ...args] = wordsOf(line)
  if (word === '') return ''
  const command = commandOf(word)
  if (!command) throw unknownCommand(word)
  return await command.run(desk, args, hearing)
}

const unknownCommand = (word: string) =>
  refused(`no such command: ${word}.${nearest(word, Object.keys(all))}`)

const usageColumns = 18

const listed = (): string =>
  Object.values(all)
    .map(({ usage, help }) => `  ${usage.padEnd(usageColumns)} ${help}`)
    .join('\n')

function helpOf(name: string): string {
  const command = commandOf(name)
  if (!command) throw unknownCommand(name)
  const { usage, help, more } = command
  return [`${usage}: ${help}.`, ...(more === undefined ? [] : [more])].join('\n')
}

/** What may stand in place of a line that was begun. */
export function completions({ root }: Pick<Desk, 'root'>, line: string): string[] {
  const words = line.trimStart().split(/\s+/)
  const last = words.at(-1) ?? ''
  if (words.length === 1) {
    const found = Object.keys(all).filter((name) => name.startsWith(last))
    return found.map((name) => (all[name].usage === name ? name : `${name} `))
  }
  const takes = words.length === 2 ? commandOf(words[0])?.takes : undefined
  if (takes === undefined) return []
  const more = takes === 'setting' ? ' ' : ''
  return known[takes](root)
    .filter((name) => name.startsWith(last))
    .map((name) => `${words[0]} ${name}${more}`)
}

const known: Readonly<
  Record<NonNullable<Command['takes']>, (root: Desk['root']) => readonly string[]>
> = {
  actor: (root) => actorIds(root.status().actors),
  setting: (root) => root.settings().keys,
  command: () => Object.keys(all),
}
