import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { boundedLines } from '../../../src/decode/bounded-lines.ts'
import { readPrompts } from '../../../src/decode/prompts.ts'
import { stopTokensOf } from '../../../src/decode/stop-tokens.ts'
import { explain, isFailure } from '../../../src/failure.ts'
import { scratch } from '../../support/target-run.ts'

const refused = (pattern: RegExp) => (error: unknown) =>
  isFailure(error, 'invalid') && pattern.test(error.message)

test('prompts: a line is a prompt, blank lines are none, no more than wanted', async (t) => {
  const path = join(await scratch(t), 'prompts.jsonl')
  writeFileSync(path, '{"input_ids": [1, 2]}\r\n\n{"input_ids": [9], "text": "nine"}\n  \n')
  const wanted = { vocabSize: 10, limit: 100 }
  assert.deepEqual(await readPrompts(path, wanted), [[1, 2], [9]])
  assert.deepEqual(await readPrompts(path, { ...wanted, limit: 1 }), [[1, 2]])
  // What lies behind the limit is not looked at.
  writeFileSync(path, '\ufeff{"input_ids": [3]}\nnone\n')
  assert.deepEqual(await readPrompts(path, { ...wanted, limit: 1 }), [[3]])
})

test('prompts: what is no prompt of this target is refused, with file and line', async (t) => {
  const dir = await scratch(t)
  const path = join(dir, 'prompts.jsonl')
  const read = (text: string) => {
    writeFileSync(path, text)
    return readPrompts(path, { vocabSize: 10, limit: 100 })
  }
  const fine = '{"input_ids": [1]}\n'
  await assert.rejects(read(''), refused(/no prompt in the file.*lines=0/))
  await assert.rejects(read('\n\n'), refused(/no prompt in the file/))
  await assert.rejects(read(`${fine}{"input_ids": []}`), refused(/holds no prompt.*line=2/))
  await assert.rejects(read(`${fine}\n[1, 2]`), refused(/holds no prompt.*line=3/))
  await assert.rejects(read('{"input_ids": [1.5]}'), refused(/holds no prompt.*line=1/))
  await assert.rejects(read('{"input_ids": [-1]}'), refused(/holds no prompt/))
  await assert.rejects(read('{"input_ids": [1]'), refused(/holds no prompt/))
  await assert.rejects(read('{"input_ids": [1, 10]}'), refused(/want=ids below 10, found=10/))
  await assert.rejects(
    readPrompts(join(dir, 'none'), { vocabSize: 10, limit: 1 }),
    refused(/cannot be read/),
  )
  for (const nowhere of [dir, join(path, 'below'), join(dir, 'n'.repeat(300))]) {
    await assert.rejects(
      readPrompts(nowhere, { vocabSize: 10, limit: 1 }),
      refused(/cannot be read/),
    )
  }
  const many = `{"input_ids": [${Array(1000).fill('"x"')}]}`
  await assert.rejects(read(many), (error) => isFailure(error) && explain(error).length < 1000)
})

test('lines: each one, however the file is read; one that is too long is named', async (t) => {
  const path = join(await scratch(t), 'lines')
  const lines = ['ä'.repeat(70_000), '', 'short', 'x'.repeat(200_000)]
  const read = async (text: string, bytesMax: number) => {
    writeFileSync(path, text)
    await using file = await open(path)
    const tooLong = (line: number) => new Error(`line ${line} is too long`)
    const found: string[] = []
    for await (const line of boundedLines(file, bytesMax, tooLong)) found.push(line)
    return found
  }
  assert.deepEqual(await read(lines.join('\n'), 200_000), lines)
  assert.deepEqual(await read(`${lines.join('\r\n')}\r\n`, 200_001), lines)
  assert.deepEqual(await read('', 1), [])
  await assert.rejects(read(lines.join('\n'), 199_999), /line 4 is too long/)
})

test('stop tokens: the generation config is asked before the config; one or several', async (t) => {
  const dir = await scratch(t)
  const write = (name: string, value: unknown) =>
    writeFileSync(join(dir, name), JSON.stringify(value))
  assert.deepEqual(await stopTokensOf(dir), new Set())
  write('config.json', { eos_token_id: 7 })
  assert.deepEqual(await stopTokensOf(dir), new Set([7]))
  write('generation_config.json', { eos_token_id: null })
  assert.deepEqual(await stopTokensOf(dir), new Set([7]))
  write('generation_config.json', { eos_token_id: [3, 5] })
  assert.deepEqual(await stopTokensOf(dir), new Set([3, 5]))
  write('generation_config.json', { eos_token_id: 'end' })
  await assert.rejects(stopTokensOf(dir), refused(/stop tokens cannot be read.*generation_config/))
})
