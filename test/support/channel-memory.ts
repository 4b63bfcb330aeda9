import { MessageChannel } from 'node:worker_threads'
import { connect, serve } from '../../protocol/channel.ts'
import { request } from '../../protocol/contract.ts'
import { sleep } from '../../src/clock.ts'

/**
 * Run with --expose-gc, in a process of its own. Prints what came of calls through clients that
 * nobody holds while the collector runs, and how much memory many calls leave behind.
 */

const contract = { slow: request<number, number>(), small: request<Uint8Array, Uint8Array>() }
const handlers = {
  slow: async (n: number) => {
    await sleep(1_000)
    return n
  },
  small: (bytes: Uint8Array) => bytes,
}
const collect = globalThis.gc ?? (() => undefined)

function client() {
  const { port1, port2 } = new MessageChannel()
  serve(port2, contract, handlers)
  return { client: connect(port1, contract, { peer: 'echo' }), close: () => port1.close() }
}

async function repliesThroughLostClients(): Promise<number> {
  const ends: (() => void)[] = []
  const calls = Array.from({ length: 100 }, (_, n) => {
    const lost = client()
    ends.push(lost.close)
    return lost.client.slow(n)
  })
  for (let pass = 0; pass < 20; pass++) {
    await sleep(40)
    collect()
  }
  const replies = await Promise.all(calls)
  for (const end of ends) end()
  return replies.filter((reply, n) => reply === n).length
}

async function growth(): Promise<{ readonly heapGrowth: number; readonly rssGrowth: number }> {
  const pair = client()
  const round = async () => {
    for (let call = 0; call < 10_000; call++) await pair.client.small(Buffer.from('five!'))
    await sleep(1)
    collect()
    return process.memoryUsage()
  }
  const before = await round()
  const after = await round()
  pair.close()
  return { heapGrowth: after.heapUsed - before.heapUsed, rssGrowth: after.rss - before.rss }
}

const replies = await repliesThroughLostClients()
process.stdout.write(JSON.stringify({ replies, ...(await growth()) }))
