/**
 * What `file.test.ts` runs in processes of their own: `count` adds one, again and again, by
 * conditional puts; `overwrite` puts ever new versions until it is killed.
 */
import { crc32 } from 'node:zlib'
import { FileStore } from '../../../src/store/file.ts'

const [mode = '', root = '', times = '0'] = process.argv.slice(2)
const store = new FileStore(root)

if (mode === 'count') {
  for (let done = 0; done < Number(times); ) {
    const info = await store.head('count')
    const count = Number(await store.get('count'))
    const next = Buffer.from(String(count + 1))
    if (info?.etag && (await store.putIfMatch('count', next, info.etag))) done += 1
  }
} else {
  for (let version = 1; ; version = (version % 250) + 1) {
    const body = Buffer.alloc(8 << 20, version)
    await store.put('versions/latest', body, { crc32: crc32(body) })
    process.stdout.write('put\n')
  }
}
