import { seededRandom, sleep, systemClock } from '../../src/clock.ts'
import { openLog } from '../../src/log.ts'
import { supervise } from '../../supervisors/engine/tree.ts'
import { puppetContract } from './actors/puppet-contract.ts'
import { puppet, supervisor } from './trees.ts'

/**
 * Run in a process of its own, for a test to kill: it has an actor in another process, which is
 * inside native code for a minute by the time that its number is printed.
 */

const logTo = { level: 'info', stderr: 'none' } as const
const tree = supervise(supervisor('root', [puppet('puppet', { isolation: 'process' })]), {
  clock: systemClock,
  random: seededRandom(1),
  log: openLog({ ...logTo, actor: 'main' }),
  logTo,
  onGaveUp: (failure) => {
    throw failure
  },
  onWedged: () => undefined,
})
await tree.start()
const client = tree.client('puppet', puppetContract)
const pid = await client.ask.pid()
void client.ask.insideGate({ ms: 60_000, announcedMs: 60_000 })
while (tree.status().children[0]?.busy?.work !== 'inside') await sleep(10)
console.log(pid)
