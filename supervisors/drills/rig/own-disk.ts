import { draftsmithMain } from './program.ts'

/**
 * A small disk of its own, which nobody else sees.
 *
 * @param meanwhile  what becomes of it, for a shell to do: it is "$disk" there, and draftsmith $$
 */
export const onOwnDisk = (folder: string, sizeMB: number, meanwhile: string) => ({
  file: 'unshare',
  args: [
    ...['-rm', 'sh', '-ec'],
    [
      'disk=$1',
      'shift',
      `mount -t tmpfs -o size=${sizeMB}m tmpfs "$disk"`,
      `(${meanwhile}) &`,
      'exec "$0" "$@"',
    ].join('\n'),
    ...[process.execPath, folder, draftsmithMain],
  ],
})

/** For the shell: waits for the first finished file in this folder of the disk. */
export const untilSpooled = (spool: string): string =>
  `while kill -0 $$ 2>/dev/null; do set -- "$disk/${spool}"/*.safetensors; ` +
  '[ -e "$1" ] && break; sleep 0.05; done'
