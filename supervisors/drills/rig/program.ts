import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The programs that drills start, as a user does: bundled, wherever this file itself was loaded
 * from.
 */
const built = join(fileURLToPath(new URL('../../../..', import.meta.url)), 'dist')

export const draftsmithMain = join(built, 'supervisors', 'main.js')
/** The embedded S3 server, as a process. */
export const devS3Main = join(built, 'src', 'dev-s3', 'main.js')
