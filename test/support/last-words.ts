import { seededRandom, systemClock } from '../../src/clock.ts'
import { type LogTarget, openLog } from '../../src/log.ts'
import { supervise } from '../../supervisors/engine/tree.ts'
import { puppetContract, type Way } from './actors/puppet-contract.ts'
import { puppet, supervisor } from './trees.ts'

/**
 * Run in a process of its own, as `last-words.js ISOLATION WAY FILE`: an actor writes 2000 lines
 * and a fatal one, then ends that way; `kill` is an order of its supervisor.
 */

const [, , isolation, way, file] = process.argv
const ways: Readonly<Record<string, Way>> = {
  exit: 'exit 3',
  throw: 'throw',
  kill: 'hang',
  abort: 'abort',
}

const logTo: LogTarget = { level: 'info', stderr: 'json', ...(file !== undefined && { file }) }
const talker = puppet('talker', {
  isolation: isolation === 'process' ? 'process' : 'thread',
  restart: 'never',
})
const gone = new Promise<void>((resolve) => {
  const tree = supervise(supervisor('root', [talker]), {
    clock: systemClock,
    random: seededRandom(1),
    log: openLog({ level: 'info', stderr: 'none', actor: 'main' }),
    logTo,
    onEvent: ({ kind }) => kind === 'died' && resolve(),
    onGaveUp: () => undefined,
    onWedged: () => undefined,
  })
  void tree.start().then(async () => {
    const { ask } = tree.client('talker', puppetContract)
    await ask.lastWords(ways[way ?? ''] ?? 'hang').catch(() => undefined)
    if (way === 'kill') await tree.kill('talker')
  })
})
await gone
process.exit(0)
