import { deferred } from '../../protocol/deferred.ts'
import type { ConsoleClient } from '../run/console-client.ts'
import { Answering, type Place } from './answering.ts'
import { Attached } from './attached.ts'
import type { LineHistory } from './line-history.ts'
import { Prompt } from './prompt.ts'
import { Screen } from './screen.ts'

/** A console on a run in another process: a prompt, and above it what was answered. */

const welcome = '`help` lists the commands; Ctrl-D leaves, and the run goes on.'
const leaving = new Set(['exit', 'quit'])

/** Settles when the person leaves, or the run ends; true: the run goes on. */
export async function attachTerminal(
  client: ConsoleClient,
  history: LineHistory,
): Promise<boolean> {
  const screen = new Screen(process.stdout)
  const asker = new Attached(client)
  const left = deferred<boolean>()
  let picture: readonly string[] = []
  const show = () => {
    screen.draw('', picture)
    prompt.show()
  }
  const say = (text: string) => {
    screen.say(text)
    show()
  }
  const answer = async (line: string) => {
    if (leaving.has(line.trim())) return left.resolve(true)
    screen.left()
    await answering.answer(line)
    show()
  }
  const prompt: Prompt = new Prompt({
    output: process.stdout,
    history,
    completions: (line) => asker.completions(line),
    offer: (choices) => say(choices.join('   ')),
    entered: (line) => void answer(line),
    // What is waited for is waited for no more; the run is told of no signal.
    interrupted: () => {
      client.interrupt()
      say('^C: Ctrl-D leaves, the run goes on; `stop` stops it.')
    },
    ended: () => left.resolve(true),
  })
  const place: Place = {
    // It may be drawn wider or narrower meanwhile.
    get columns() {
      return screen.columns
    },
    say,
    write: (text) => {
      screen.write(text)
      show()
    },
    picture: (lines) => {
      picture = lines ?? []
      show()
    },
    follows: () => undefined,
    takeKeys: (pressed) => prompt.takeKeys(pressed),
  }
  const answering = new Answering(asker, place)
  say(`Attached to process ${client.pid}. ${welcome}`)
  void client.ended.then(() => left.resolve(false))
  const goesOn = await left.promise
  prompt.close()
  screen.write('')
  return goesOn
}
