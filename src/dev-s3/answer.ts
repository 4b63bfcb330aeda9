/** What the server says: answers, refusals and their XML. */
import type { IncomingHttpHeaders } from 'node:http'

export interface DevRequest {
  readonly operation: string
  readonly bucket: string
  readonly key: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  /** Decoded, its checksums verified. */
  readonly body: Buffer
  /** CRC-32 in base64, where the client sent one. */
  readonly crc32?: string
}

export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | string
}

/** An error answer, as S3 words it. */
export class Refusal extends Error {
  readonly status: number
  readonly code: string
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: number,
    code: string,
    options: { readonly says?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(options.says ?? code)
    this.status = status
    this.code = code
    this.headers = options.headers ?? {}
  }

  answer(): Answer {
    const code = `<Code>${escapeXml(this.code)}</Code>`
    const message = `<Message>${escapeXml(this.message)}</Message>`
    return {
      ...xml('Error', code + message, this.status),
      headers: { ...xmlType, ...this.headers },
    }
  }
}

const xmlType = { 'content-type': 'application/xml' }

export const xml = (root: string, inner: string, status = 200): Answer => ({
  status,
  headers: xmlType,
  body: `<?xml version="1.0" encoding="UTF-8"?>\n<${root}>${inner}</${root}>`,
})

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

export const escapeXml = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => entities[character] ?? character)
