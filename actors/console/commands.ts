import type { AwaitedEnd, Killed, Restarted } from '../../protocol/console.ts'
import { nearest } from '../../src/config/errors.ts'
import { isLiveKey, parseSetting } from '../../src/config/live-settings.ts'
import { Failure } from '../../src/failure.ts'
import { actorIds, actorOf } from './actor-ids.ts'
import type { Desk, Hearing } from './desk.ts'
import { settingsText, shown } from './settings-text.ts'
import { statusText } from './text.ts'
import { topText } from './top-text.ts'
import { treeText } from './tree-text.ts'

/** What can be typed, all but `help`. */

export interface Command {
  readonly usage: string
  /** In a line; `more` is for those who ask after it. */
  readonly help: string
  readonly more?: string
  /** What its first word may be, for completion. */
  readonly takes?: 'actor' | 'setting' | 'command'
  /** It may last: its beginning is noted as well as its end. */
  readonly lasts?: true
  /** What is said to one who waits for it no more: it goes on. Absent: it ends by itself then. */
  readonly goesOn?: string
  readonly run: (desk: Desk, args: readonly string[], hearing: Hearing) => Promise<string>
}

const looks = {
  status: {
    usage: 'status',
    help: 'where the run stands',
    run: async ({ root }, _, { columns }) => statusText(root.status(), columns),
  },
  tree: {
    usage: 'tree',
    help: 'each actor: its state, since when, restarts, queues, what it is at',
    more:
      'For actors of one kind `in` is the one queue that they share: of extractors, the rows ' +
      'that are not done yet. ' +
      '`last` is the cause of the last restart.',
    run: async ({ root }, _, { columns }) => treeText(root.status(), columns),
  },
  top: {
    usage: 'top',
    help: 'progress, speed and tree, drawn anew each second; q ends it',
    more: 'Where no terminal is, it is printed once.',
    run: async ({ root }, _, { columns }) => topText(root.status(), columns),
  },
  explain: {
    usage: 'explain ROW',
    help: 'where a row’s sample is, why, and its history',
    more: 'ROW counts from 0; a hash of 32 hex digits, or its first four or more, will do as well.',
    lasts: true,
    run: async (desk, [asked], { signal }) => {
      if (asked === undefined) throw refused('explain which row?')
      return await desk.explain(asked, signal)
    },
  },
  log: {
    usage: 'log ACTOR',
    help: 'its last lines, then what it writes, until a key is pressed',
    more: '`log supervisor` is the log of the run itself: starts, deaths, restarts.',
    takes: 'actor',
    lasts: true,
    run: async (desk, [actor], { follows, log, signal }) => {
      const id = knownActor(desk, actor, ['supervisor'])
      follows()
      await desk.follow(id, log, signal)
      return ''
    },
  },
} as const satisfies Record<string, Command>

export const orders = {
  pause: {
    usage: 'pause',
    help: 'begin no more batches, files or steps; what is spooled is still sent',
    goesOn: 'Nothing new is begun; who is in the middle of a step hears of it after that.',
    run: async ({ root }) => {
      await root.pause()
      const { state } = root.status()
      if (state !== 'paused') throw refused(`there is nothing to pause now. state=${state}`)
      return 'Paused. `continue` goes on.'
    },
  },
  continue: {
    usage: 'continue',
    help: 'go on after a pause or a drain',
    goesOn: 'Going on; who is in the middle of a step hears of it after that.',
    run: async ({ root }) => {
      await root.continue()
      const { state } = root.status()
      if (state !== 'running') throw refused(`there is nothing to go on with. state=${state}`)
      return 'Going on.'
    },
  },
  restart: {
    usage: 'restart ACTOR',
    help: 'let it finish what it holds, then start it again',
    more: 'Those that depend on it may start again with it: see `last` in `tree`.',
    takes: 'actor',
    lasts: true,
    goesOn: 'Not waited for any more: it starts again once it has finished. `tree` tells of it.',
    run: async (desk, [actor], { say }) => {
      const id = knownActor(desk, actor)
      const isUp = actorOf(desk.root.status().actors, id)?.state === 'running'
      if (isUp) say(`${id} finishes what it holds, then it starts again.`)
      return restartedText(id, await desk.root.restart(id))
    },
  },
  kill: {
    usage: 'kill ACTOR',
    help: 'end an actor’s thread or process as a crash would; it starts again',
    more: 'A thread inside native code is waited for: it is ended once it is outside.',
    takes: 'actor',
    lasts: true,
    goesOn: 'Not waited for any more: it is ended all the same. `tree` tells of it.',
    run: async (desk, [actor], { say }) => {
      const id = knownActor(desk, actor)
      const killed = await desk.root.kill(id, (wait) => say(awaitedText(id, wait)))
      return killedText(id, killed)
    },
  },
  set: {
    usage: 'set [NAME VALUE]',
    help: 'the settings in force, or another value for one',
    more:
      'It holds until the process ends, also for actors that start again; ' +
      'the configuration stays as it is.',
    takes: 'setting',
    run: async ({ root }, [key, value = '']) => {
      const settings = root.settings()
      if (key === undefined) return settingsText(settings)
      root.set(parseSetting(key, value, settings.keys))
      const now = isLiveKey(key) ? shown(key, root.settings().inForce) : value
      return `${key} is ${now} from now on. The configuration stays as it is.`
    },
  },
  checkpoint: {
    usage: 'checkpoint',
    help: 'save what is trained by now; the training goes on',
    lasts: true,
    goesOn: 'Not waited for any more: the save goes on. `status` tells of it.',
    run: async ({ root }) => {
      const name = await root.checkpoint()
      return name === null ? 'There is nothing to save yet.' : `Saved: checkpoints/${name}`
    },
  },
  drain: {
    usage: 'drain',
    help: 'begin nothing new, store and save all that is under way, then wait',
    more:
      'Unlike `pause` it is answered when nothing is under way any more; ' +
      'unlike `stop` the run stays. `continue` goes on.',
    lasts: true,
    run: async ({ root }, _, { say, signal }) => {
      say('Nothing new is begun; what is under way is finished, stored and committed.')
      await root.drain(signal)
      return 'Drained: nothing is under way. `continue` goes on, `stop` ends the run.'
    },
  },
  stop: {
    usage: 'stop',
    help: 'drain, save and exit; the same command goes on later',
    run: async ({ root }) => {
      root.stop()
      return 'Stopping: what is under way is finished and stored first.'
    },
  },
  note: {
    usage: 'note TEXT',
    help: 'write it into the log, with the time',
    run: async ({ root }, words) => {
      if (words.length === 0) throw refused('note what?')
      root.note(words.join(' '))
      return 'Noted.'
    },
  },
} as const satisfies Record<string, Command>

export const commands: Readonly<Record<string, Command>> = { ...looks, ...orders }

/** @throws Failure `invalid`: none was named, or one that is not there, with the nearest */
function knownActor(
  { root }: Desk,
  actor: string | undefined,
  others: readonly string[] = [],
): string {
  const known = [...actorIds(root.status().actors), ...others]
  if (actor === undefined) throw refused(`which actor? Known: ${known.join(', ')}`)
  if (!known.includes(actor)) throw refused(`no such actor: ${actor}.${nearest(actor, known)}`)
  return actor
}

function awaitedText(actor: string, { work, patienceMs }: AwaitedEnd): string {
  const at = work === '' ? '' : ` (${work})`
  const seconds = Math.ceil(patienceMs / 1000)
  const how = `it is ended once it is outside, waited for ${seconds} s at most.`
  return `${actor} is inside native code${at}: ${how}`
}

/** Whether its supervisor starts it again. */
const comesBack = (state: string): boolean => state !== 'stopped' && state !== 'abandoned'

const afterwards = (state: string): string =>
  comesBack(state) ? 'its supervisor starts it again.' : `it stays ${state}.`

function restartedText(actor: string, { did, state }: Restarted): string {
  if (did === 'ended') return `${actor} has ended by order; ${afterwards(state)}`
  if (did === 'nothing') return `${actor} is ${state}: nothing was done.`
  if (state === 'running') return `${actor} was not up; it has been started.`
  return `${actor} was not up; it was started, and is ${state} now: see \`last\` in \`tree\`.`
}

function killedText(actor: string, killed: Killed | null): string {
  if (!killed) return `${actor} is not up: there was nothing to end.`
  const { pid, state, waitedFor } = killed
  const what = pid === null ? actor : `${actor}, process ${pid},`
  const how = waitedFor === null ? '' : ` once it was outside native code (${waitedFor})`
  return `${what} was ended${how}; ${afterwards(state)}`
}

export const refused = (message: string): Failure =>
  new Failure('invalid', message, { remedy: '`help` lists the commands.' })
