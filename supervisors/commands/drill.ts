import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Failure } from '../../src/failure.ts'
import { near } from '../../src/near.ts'
import type { Drill } from '../drills/drill.ts'
import { type DrillReport, hold } from '../drills/hold.ts'
import { drills } from '../drills/list.ts'
import { listText, openingText, reportText, summaryText } from '../drills/report.ts'
import { Ground } from '../drills/rig/ground.ts'
import { demoMaterials, type Materials, ownMaterials } from '../drills/rig/materials.ts'
import { endAll } from '../drills/rig/process.ts'
import { exitCodes } from '../run/machine.ts'
import { requireFolder } from '../run/preflight.ts'
import { exitCodeOf, onEndSignals } from '../run/signals.ts'

/** `drill NAME | --all | --list`: breaks the real program on purpose, and tells what held. */
export interface DrillOptions {
  readonly json: boolean
  readonly all: boolean
  readonly list: boolean
  /** Of what is drawn by chance. */
  readonly seed: number
  /** A user's own; absent: the demo's target and rows, and the embedded store. */
  readonly config?: string
  /** Rows that a job takes. */
  readonly samples?: number
  /** Where the drills' folders lie, which go again; absent: where the system has temporary ones. */
  readonly work?: string
}

const ownSamples = 64

/** @throws Failure `invalid`: no such drill, or no such configuration */
export async function drill(names: readonly string[], options: DrillOptions): Promise<number> {
  const { json, list, all } = options
  if (list) {
    process.stdout.write(
      `${json ? JSON.stringify(drills.map(about)) : listText(drills, process.stdout.columns)}\n`,
    )
    return exitCodes.done
  }
  if (all === names.length > 0) {
    throw new Failure('invalid', 'which drill? Name some, or give --all; --list tells of each.')
  }
  const chosen = all ? drills : names.map(drillNamed)
  let current = ''
  // On stderr: with --json, stdout is one document.
  const ground = await groundFor(options, (what) => {
    process.stderr.write(`draftsmith: ${current}: ${what} …\n`)
  })
  const reports: DrillReport[] = []
  for (const one of chosen) {
    current = one.name
    reports.push(await shown(one, ground, json))
  }
  if (json) process.stdout.write(`${JSON.stringify(document(reports, options.seed))}\n`)
  else process.stdout.write(`${summaryText(reports)}; seed ${options.seed}\n`)
  const isBroken = reports.some(({ outcome }) => outcome === 'broken')
  return isBroken ? exitCodes.incomplete : exitCodes.done
}

/** However this process ends, short of a SIGKILL, nothing of it stays: no process, no folder. */
async function groundFor(options: DrillOptions, step: Ground['step']): Promise<Ground> {
  let ground: Ground | undefined
  onEndSignals((signal, urgency) => {
    const end = () => process.exit(exitCodeOf(signal))
    if (urgency === 'drain' && ground) return void ground.leave().finally(end)
    for (const url of ground?.leftInStore ?? []) {
      process.stderr.write(`draftsmith: something may be left behind: ${url}\n`)
    }
    end()
  })
  const dir = mkdtempSync(join(placeOf(options), 'draftsmith-drill-'))
  process.once('exit', () => remove(dir))
  ground = new Ground(await materialsIn(dir, options), options.seed, step)
  return ground
}

/** Whoever is told to hurry has ended nothing yet. What was killed may write a last time. */
function remove(dir: string): void {
  try {
    for (const name of readdirSync(dir)) endAll(join(dir, name))
    rmSync(dir, { recursive: true, force: true, maxRetries: 20 })
  } catch {
    process.stderr.write(`draftsmith: a folder is left behind: ${dir}\n`)
  }
}

async function shown(one: Drill, ground: Ground, json: boolean): Promise<DrillReport> {
  if (json) return await ground.whileHere(hold(one, ground))
  process.stdout.write(`${openingText(one)}\n`)
  const report = await ground.whileHere(hold(one, ground))
  process.stdout.write(`${reportText(report)}\n\n`)
  return report
}

function drillNamed(name: string): Drill {
  const found = drills.find((one) => one.name === name)
  if (found) return found
  const guess = near(
    name,
    drills.map((one) => one.name),
  )
  const nearest = guess === undefined ? '' : `, nearest=${guess}`
  throw new Failure('invalid', `no such drill. found=${name}${nearest}`, {
    remedy: 'draftsmith drill --list names all of them.',
  })
}

function placeOf({ work }: DrillOptions): string {
  if (work === undefined) return tmpdir()
  const path = resolve(work)
  requireFolder(path)
  return path
}

async function materialsIn(dir: string, options: DrillOptions): Promise<Materials> {
  const { config, samples } = options
  return config === undefined
    ? await demoMaterials(dir, samples)
    : ownMaterials(dir, config, samples ?? ownSamples)
}

const about = ({ name, breaks, matters, seconds, needs = [] }: Drill) => ({
  ...{ name, breaks, matters, seconds, needs },
})

const document = (reports: readonly DrillReport[], seed: number) => ({
  seed,
  machine: {
    cpu: cpus()[0]?.model.trim() ?? null,
    cores: availableParallelism(),
    node: process.versions.node,
  },
  drills: reports,
})
