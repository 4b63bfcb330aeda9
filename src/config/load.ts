import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseDocument, stringify } from 'yaml'
import { Failure } from '../failure.ts'
import { describeIssues } from './errors.ts'
import { type Config, configSchema, sectionsNotBuilt } from './schema.ts'

export interface LoadedConfig {
  /** Whole, with defaults; paths are absolute. */
  readonly config: Config
  /** What this version accepts and does not act on. */
  readonly warnings: readonly string[]
}

/**
 * Reads a configuration, YAML or JSON.
 *
 * @param path       paths inside it are relative to its folder
 * @throws           Failure `invalid`: every fault at once, a line each
 */
export function loadConfig(path: string): LoadedConfig {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new Failure('invalid', `no configuration can be read. path=${path}`, {
      cause,
      remedy: 'Name a YAML or JSON file; the README shows a small one.',
    })
  }
  return parseConfig(text, { name: path, base: dirname(resolve(path)) })
}

/** The same from text; `base` is what relative paths start from. */
export function parseConfig(text: string, from: { name: string; base: string }): LoadedConfig {
  const input = valuesIn(text, from.name) ?? {}
  const parsed = configSchema.safeParse(input)
  if (!parsed.success) throw refusal(from.name, describeIssues(configSchema, parsed.error, input))
  return { config: withAbsolutePaths(parsed.data, from.base), warnings: warningsOf(parsed.data) }
}

/**
 * What is written there, not looked at yet.
 *
 * @throws Failure `invalid`: it is no YAML
 */
export function valuesIn(text: string, name: string): unknown {
  const document = parseDocument(text)
  if (document.errors.length > 0) {
    const faults = document.errors.map((error) => error.message.split('\n')[0].replace(/:$/, ''))
    throw refusal(name, faults)
  }
  try {
    return document.toJS()
  } catch (error) {
    // Aliases are followed only now: one may lead nowhere, or some may unfold to a billion values.
    if (error instanceof ReferenceError) throw refusal(name, [error.message])
    throw error
  }
}

function refusal(name: string, faults: readonly string[]): Failure {
  const lines = faults.map((fault) => `\n  ${fault}`).join('')
  const many = faults.length === 1 ? '1 fault' : `${faults.length} faults`
  return new Failure('invalid', `the configuration has ${many}. file=${name}${lines}`, {
    remedy: 'Correct them in the file; nothing was changed.',
  })
}

function withAbsolutePaths(config: Config, base: string): Config {
  const absolute = (path: string) => resolve(base, path)
  const { preemption } = config
  const inFiles = /^file:\/\/(?!\/)(.*)$/.exec(config.store)
  return {
    ...config,
    store: inFiles ? pathToFileURL(absolute(inFiles[1])).href : config.store,
    work: absolute(config.work),
    dataset: { ...config.dataset, path: absolute(config.dataset.path) },
    target: { ...config.target, path: absolute(config.target.path) },
    ...(preemption?.file && { preemption: { ...preemption, file: absolute(preemption.file) } }),
  }
}

function warningsOf(config: Config): string[] {
  const warnings = sectionsNotBuilt
    .filter((section) => config[section] !== undefined)
    .map((section) => `${section}: this version does not act on it`)
  const { train } = config
  if (train?.mode === 'online') {
    warnings.push('train.mode: this version trains on what is stored')
  }
  if (train && train.tokensPerStep < train.tokensPerBatch) {
    const sizes = `tokensPerStep=${train.tokensPerStep}, tokensPerBatch=${train.tokensPerBatch}`
    warnings.push(`train.tokensPerStep: a step is of one batch at least. ${sizes}`)
  }
  return warnings
}

/**
 * The configuration as it is kept in the store: without what may hold a secret (`notify`,
 * `cluster`), and without what belongs to one machine (`work`).
 */
export function configForStore(config: Config): string {
  const { work: _machine, notify: _hook, cluster: _login, ...kept } = config
  return stringify(kept)
}
