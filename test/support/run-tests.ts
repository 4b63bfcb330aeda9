/**
 * Runs every test that has a source, by Node's own runner, and lists what was skipped and why.
 * Words choose files: `npm test -- manifest store` runs those with either word in their path.
 *
 * Files are found among the sources, so a compiled test whose source is gone does not run.
 */
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { run } from 'node:test'
import { spec, type TestEvent } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { projectRoot } from './golden.ts'
import { unfounded } from './needs.ts'

/**
 * One more than there are cores: a test that waits for a death, a backoff or a slow store leaves
 * its own idle.
 */
const filesAtOnce = availableParallelism() + 1
/** What takes longest starts first, in this order: at the end no file is left to run alone. */
const longest = ['supervisors/commands/demo', 'drills/', 'supervisors/']
/** A file that hangs is ended and named. */
const fileMs = 10 * 60_000

interface Skip {
  readonly name: string
  readonly reason: string
}

/** The compiled tests, the longest first, else in order of their sources' paths. */
function testFiles(words: readonly string[]): string[] {
  const compiled = join(dirname(fileURLToPath(import.meta.url)), '..')
  return readdirSync(join(projectRoot, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
    .sort()
    .sort((a, b) => rank(a) - rank(b))
    .map((path) => join(compiled, path.replace(/\.ts$/, '.js')))
}

function rank(path: string): number {
  const found = longest.findIndex((start) => path.startsWith(start))
  return found < 0 ? longest.length : found
}

/** The runner's closing counts are diagnostics of the whole run: `tests 12`, `duration_ms 3.4`. */
const isSummary = ({ type, data }: TestEvent): boolean =>
  type === 'test:diagnostic' &&
  data.nesting === 0 &&
  /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/.test(data.message)

async function print(events: AsyncIterable<TestEvent> | Iterable<TestEvent>): Promise<void> {
  for await (const text of Readable.from(events).pipe(new spec())) process.stdout.write(text)
}

async function main(words: readonly string[]): Promise<void> {
  const files = testFiles(words)
  if (files.length === 0) throw new Error(`no test file matches. words=${words.join(' ')}`)
  const skips: Skip[] = []
  const summary: TestEvent[] = []

  async function* watched(): AsyncGenerator<TestEvent> {
    const events: AsyncIterable<TestEvent> = run({
      files,
      concurrency: filesAtOnce,
      timeout: fileMs,
    })
    for await (const event of events) {
      if (event.type === 'test:fail') process.exitCode = 1
      if (event.type === 'test:pass' && event.data.skip !== undefined) {
        const { name, skip } = event.data
        skips.push({ name, reason: typeof skip === 'string' ? skip : '' })
      }
      if (isSummary(event)) summary.push(event)
      else yield event
    }
  }
  await print(watched())
  reportSkips(skips)
  // Held back, so that the runner's own counts come last of all, after failures and skips.
  await print(summary)
}

/** With CI=true, a test that skips though what it needs is there fails the run. */
function reportSkips(skips: readonly Skip[]): void {
  if (skips.length > 0) console.log('\nskipped:')
  for (const { name, reason } of skips) {
    console.log(`  ${name}: ${reason || 'no reason given'}`)
    const why = unfounded(reason)
    if (process.env.CI !== 'true' || why === undefined) continue
    console.log(`    fails here, where CI=true: ${why}`)
    process.exitCode = 1
  }
  if (skips.length > 0) console.log('')
}

await main(process.argv.slice(2))
