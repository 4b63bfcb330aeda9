import { readlinkSync } from 'node:fs'
import { userInfo } from 'node:os'
import { z } from 'zod'
import { printable } from '../../src/failure.ts'

/** Who types, and where: for those who read later what a run was told. */

const textMax = 100
const text = z.string().transform((all) => all.slice(0, textMax))

/** What is not known is absent. */
const personSchema = z.object({
  user: text.optional(),
  uid: z.int().optional(),
  /** By whose leave, where it is another's. */
  sudoUser: text.optional(),
  pid: z.int(),
  /** `run`, `attach`, … */
  command: text.optional(),
  terminal: text.optional(),
  /** From where the machine was entered, by SSH. */
  address: text.optional(),
})

export type Person = z.output<typeof personSchema>

/** As this process knows of itself. */
export const thisPerson = (): Person => ({
  user: userName(),
  uid: process.getuid?.(),
  sudoUser: process.env.SUDO_USER,
  pid: process.pid,
  command: process.argv[2],
  terminal: terminalName(),
  address: process.env.SSH_CONNECTION?.split(' ')[0],
})

/** What another says of himself; null where that is not understood. */
export function parsePerson(said: string): Person | null {
  try {
    return personSchema.safeParse(JSON.parse(said)).data ?? null
  } catch {
    return null
  }
}

/** `root by attach, process 12, /dev/pts/3, 10.0.0.1`: as much of it as is known. */
export function personText({
  address,
  command,
  pid,
  sudoUser,
  terminal,
  user,
  uid,
}: Person): string {
  const name = user ?? (uid === undefined ? 'somebody' : `uid ${uid}`)
  const leave = sudoUser === undefined ? '' : ` (${sudoUser})`
  const by = command === undefined ? '' : ` by ${command}`
  const known = [`${name}${leave}${by}`, `process ${pid}`, terminal, address]
  return printable(known.filter((part) => part !== undefined).join(', '))
}

/** Undefined where the system has no name for the number. */
function userName(): string | undefined {
  try {
    return userInfo().username
  } catch {
    return undefined
  }
}

function terminalName(): string | undefined {
  if (!process.stdin.isTTY) return undefined
  try {
    return readlinkSync('/proc/self/fd/0')
  } catch {
    return undefined
  }
}
