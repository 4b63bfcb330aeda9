import { readFile } from 'node:fs/promises'
import { crc32 } from 'node:zlib'

export const fileCrc32 = async (path: string): Promise<number> => crc32(await readFile(path))
