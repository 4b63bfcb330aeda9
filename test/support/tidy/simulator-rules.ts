/** Rules about the simulator: it tries the product itself, and is nothing of it. */
import { type Finding, findEach, isTypeScript, type Rule, referencesOf } from './sources.ts'

/** What spreads seeds over the threads of this machine: nothing of it is simulated. */
const spreads = ['main', 'pool', 'thread'].map((name) => `test/simulator/${name}.ts`)

const isSimulators = (path: string): boolean =>
  path.startsWith('test/simulator/') && !path.endsWith('.test.ts') && !spreads.includes(path)

/** What decides about a run: imported as it is. */
const decides = [
  'supervisors/run/run.ts',
  'supervisors/extraction.ts',
  'protocol/lifecycle.ts',
  ...['ledger', 'uploader', 'reader', 'extractor'].map((actor) => `actors/${actor}/begin.ts`),
]

/** Of a simulated part the real one is not touched: files, threads, sockets, processes. */
const real = /^node:(?!buffer|crypto|path|util|zlib|os$|fs\/promises$|worker_threads$)/

/** A rows' folder is read before the first seed; a MessagePort is told from a simulated one. */
const mayTouch: Readonly<Record<string, readonly string[]>> = {
  'node:fs/promises': ['test/simulator/workload.ts'],
  'node:os': ['test/simulator/workload.ts'],
  'node:worker_threads': ['test/simulator/ports.ts'],
}

export const simulatorRunsProduct: Rule = (sources) => {
  const own = sources.filter((source) => isTypeScript(source) && isSimulators(source.path))
  const imports = own.flatMap((source) =>
    referencesOf(source).map(({ line, target }) => ({ path: source.path, line, target })),
  )
  const missing = decides
    .filter((path) => own.length > 0 && !imports.some(({ target }) => target === path))
    .map((path) => ({ path, line: 1, message: 'the simulator must run this, and no copy of it' }))
  const touched = imports.flatMap(({ path, line, target }): Finding[] => {
    const allowed = mayTouch[target]
    if (allowed ? allowed.includes(path) : !real.test(target)) return []
    return [{ path, line, message: `${target} is real: nothing simulated may touch it` }]
  })
  return [...missing, ...touched]
}

/** Real time would make a seed come to another event log. */
export const simulatorHasItsTime: Rule = (sources) =>
  sources
    .filter((source) => isTypeScript(source) && isSimulators(source.path))
    .flatMap((source) =>
      findEach(source, /\b(Date\.now|performance\.now|Math\.random|setInterval)\b/g, 'code', () => {
        return 'time and chance are the world’s: ask it for them'
      }),
    )
