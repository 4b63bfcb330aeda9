import { join } from 'node:path'
import { projectRoot } from './golden.ts'

/** What a user starts, as `npm run build` makes it. */
export const draftsmithMain = join(projectRoot, 'dist', 'supervisors', 'main.js')
/** The embedded S3 server, as a process. */
export const devS3Main = join(projectRoot, 'dist', 'src', 'dev-s3', 'main.js')
