import { availableParallelism } from 'node:os'
import { Failure } from '../../src/failure.ts'
import { benchFolder } from '../bench/bench-folder.ts'
import { benchExtract, hundredMegabytes } from '../bench/extract.ts'
import { benchRecover } from '../bench/recover.ts'
import { benchReplay } from '../bench/replay.ts'
import { type BenchReport, reportJson, reportText } from '../bench/report.ts'
import { benchResume } from '../bench/resume.ts'
import { benchStartup } from '../bench/startup.ts'
import { benchTrain } from '../bench/train.ts'
import { trainSizes } from '../bench/train-problem.ts'
import { benchUpload } from '../bench/upload.ts'
import { exitCodes } from '../run/machine.ts'
import { exitCodeOf, onEndSignals } from '../run/signals.ts'

/** `bench NAME`: measures again what this project claims. */

export interface BenchOptions {
  readonly json: boolean
  /** Kept, with what is dear to make; left out: a temporary folder. */
  readonly work?: string
  readonly repeats?: string
  readonly rows?: string
  readonly entries?: string
  readonly files?: string
  readonly tls?: boolean
}

type Bench = (folder: string, sizes: Sizes, asked: Asked) => Promise<BenchReport>
type Sizes = (option: 'repeats' | 'rows' | 'entries' | 'files', standard: number) => number

interface Asked {
  readonly note: (text: string) => void
  readonly tls: boolean
}

/** The job that this project is made for has 914,000 samples; its dataset, 902,087 rows. */
const benches: Readonly<Record<string, Bench>> = {
  extract: (folder, size, { note }) => {
    const sizes = { rows: size('rows', 200), repeats: size('repeats', 3) }
    return benchExtract(folder, { ...sizes, target: hundredMegabytes }, note)
  },
  startup: (folder, size, { note }) =>
    benchStartup(folder, { rows: size('rows', 902_087), repeats: size('repeats', 7) }, note),
  replay: (folder, size, { note }) =>
    benchReplay(folder, { entries: size('entries', 914_000), repeats: size('repeats', 7) }, note),
  resume: (folder, size, { note }) =>
    benchResume(folder, { entries: size('entries', 50_000), repeats: size('repeats', 3) }, note),
  recover: (folder, size, { note }) =>
    benchRecover(folder, { entries: size('entries', 914_000), repeats: size('repeats', 5) }, note),
  train: (folder, size, { note }) => {
    const threads = availableParallelism()
    return benchTrain(
      folder,
      { sizes: trainSizes, threads, repeats: size('repeats', 9), compiled: true },
      note,
    )
  },
  upload: (folder, size, { note, tls }) => {
    return benchUpload(
      folder,
      { files: size('files', 1500), repeats: size('repeats', 3), tls },
      note,
    )
  },
}

/** @throws Failure `invalid`: no such benchmark, or a size that is no whole number */
export async function bench(name: string, options: BenchOptions): Promise<number> {
  const run = Object.hasOwn(benches, name) ? benches[name] : undefined
  if (!run) {
    const names = Object.keys(benches).sort().join(', ')
    throw new Failure('invalid', `no such benchmark. want=${names}, found=${name}`)
  }
  // By way of an exit, which removes the folder and ends what was started.
  onEndSignals((signal) => process.exit(exitCodeOf(signal)))
  using folder = benchFolder(options.work, name === 'upload' ? 'memory' : 'disk')
  const sizes: Sizes = (option, standard) => sizeOf(option, options[option]) ?? standard
  const note = (text: string) => process.stderr.write(`${name}: ${text}\n`)
  const report = await run(folder.path, sizes, { note, tls: options.tls ?? false })
  process.stdout.write(`${options.json ? reportJson(report) : reportText(report)}\n`)
  return exitCodes.done
}

function sizeOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text)
  throw new Failure('invalid', `no such size. option=--${option}, want=1 or more, found=${text}`)
}
