import type { ActorStatus, Killed, RootControl } from '../../protocol/console.ts'
import { nearest } from '../../src/config/errors.ts'
import { maxParallel } from '../../src/config/schema.ts'
import { Failure } from '../../src/failure.ts'
import { statusText } from './text.ts'

/** The console: a line in, a question to the root, an answer out. */

interface Command {
  readonly usage: string
  readonly help: string
  readonly run: (root: RootControl, args: readonly string[]) => Promise<string>
}

const maxParallelKey = 'upload.maxParallel'

const commands: Readonly<Record<string, Command>> = {
  status: {
    usage: 'status',
    help: 'where the run stands',
    run: async (root) => statusText(root.status(), Date.now()),
  },
  pause: {
    usage: 'pause',
    help: 'begin no more batches, or files; what is spooled is still uploaded',
    run: async (root) => {
      await root.pause()
      const { state } = root.status()
      if (state !== 'paused') throw refused(`there is nothing to pause now. state=${state}`)
      return 'Paused. `continue` goes on.'
    },
  },
  continue: {
    usage: 'continue',
    help: 'go on after a pause',
    run: async (root) => {
      await root.continue()
      return 'Going on.'
    },
  },
  set: {
    usage: `set ${maxParallelKey} N`,
    help: 'how many requests to the store may be open at once, until the process ends',
    run: async (root, [key, value = '']) => {
      if (key !== maxParallelKey) {
        const wrong = key === undefined ? 'set what?' : `${key} cannot be set here.`
        throw refused(`${wrong} Known: ${maxParallelKey}`)
      }
      const wanted = maxParallel.safeParse(/^\d+$/.test(value) ? Number(value) : value)
      if (!wanted.success) throw refused(`no such number. want=1 to 10000, found=${value}`)
      await root.setMaxParallel(wanted.data)
      const all = `At most ${wanted.data} requests to the store at once, the lock's among them.`
      return `${all} The configuration stays as it is.`
    },
  },
  kill: {
    usage: 'kill ACTOR',
    help: 'end an actor’s thread or process as a crash would; it starts again',
    run: async (root, [actor]) => {
      const known = actorIds(root.status().actors)
      if (actor === undefined) throw refused(`kill whom? Known: ${known.join(', ')}`)
      if (!known.includes(actor)) throw refused(`no such actor: ${actor}.${nearest(actor, known)}`)
      return killedText(actor, await root.kill(actor))
    },
  },
  checkpoint: {
    usage: 'checkpoint',
    help: 'save what is trained by now; the training goes on',
    run: async (root) => {
      const name = await root.checkpoint()
      return name === null ? 'There is nothing to save yet.' : `Saved: checkpoints/${name}`
    },
  },
  stop: {
    usage: 'stop',
    help: 'drain, save and exit; the same command goes on later',
    run: async (root) => {
      root.stop()
      return 'Stopping: what is under way is finished and stored first.'
    },
  },
  help: {
    usage: 'help',
    help: 'this list',
    run: async () =>
      Object.values(commands)
        .map(({ usage, help }) => `  ${usage.padEnd(24)} ${help}`)
        .join('\n'),
  },
}

/**
 * Runs one line.
 *
 * @returns  what to print
 * @throws   Failure `invalid`: no such command or actor, with the nearest there is
 */
export async function runLine(root: RootControl, line: string): Promise<string> {
  const [word, ...args] = line.trim().split(/\s+/)
  if (!word) return ''
  const command = Object.hasOwn(commands, word) ? commands[word] : undefined
  if (!command) throw refused(`no such command: ${word}.${nearest(word, Object.keys(commands))}`)
  return await command.run(root, args)
}

function killedText(actor: string, killed: Killed | null): string {
  if (!killed) return `${actor} is not up: there was nothing to end.`
  const { pid, waitedFor } = killed
  const what = pid === null ? actor : `${actor}, process ${pid},`
  const how = waitedFor === null ? '' : ` once it was outside native code (${waitedFor})`
  return `${what} was ended${how}; its supervisor starts it again.`
}

/** What may stand at the end of a line that was begun. */
export function completions(root: RootControl, line: string): string[] {
  const words = line.split(/\s+/)
  const last = words.at(-1) ?? ''
  if (words.length === 1) return Object.keys(commands).filter((name) => name.startsWith(last))
  if (words.length > 2) return []
  if (words[0] === 'set') return maxParallelKey.startsWith(last) ? [`set ${maxParallelKey} `] : []
  if (words[0] !== 'kill') return []
  return actorIds(root.status().actors)
    .filter((id) => id.startsWith(last))
    .map((id) => `kill ${id}`)
}

/** The threads of the tree, supervisors left out. */
export function actorIds(at: ActorStatus | null): string[] {
  if (!at) return []
  return at.children.length === 0 ? [at.id] : at.children.flatMap(actorIds)
}

const refused = (message: string): Failure =>
  new Failure('invalid', message, { remedy: '`help` lists the commands.' })
