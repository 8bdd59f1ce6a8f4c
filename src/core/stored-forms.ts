/** The forms in which clients get one stored response: as it is, indented, or encoded. They are released together with it. */

/** A content coding that the edge applies (RFC 9110 section 8.4.1). */
export type Coding = 'br' | 'gzip'

export class StoredForms {
  plain: StoredForm | undefined = undefined
  pretty: StoredForm | undefined = undefined
  br: StoredForm | undefined = undefined
  gzip: StoredForm | undefined = undefined
}

/** Everything is made when a client needs it first. */
export interface StoredForm {
  /** Its entity tag, with quotes. */
  readonly etag: string
  /** Of a content coding: the body, or a promise while it is being made. `notSmaller`: the body is sent without a coding. */
  encoded?: Buffer | 'notSmaller' | Promise<Buffer | 'notSmaller'>
  /** The head of a response with the body, and that of a 304. */
  full?: PreparedHead
  notModified?: PreparedHead
}

export interface PreparedHead {
  /** Names in lower case and values, alternating, which stay the same. */
  readonly stable: readonly string[]
  /** The other headers of the last hit. Age and time left are sent in whole seconds, so hits of one second share them. */
  last?: {
    /** Seconds. */
    readonly age: number
    readonly ttl: number | undefined
    readonly clusterStatus: string | undefined
    readonly pairs: readonly string[]
  }
}

/** Returns the size in bytes of each encoded form that exists, by coding. */
export function encodedSizes(forms: StoredForms): Readonly<Record<string, number>> {
  const sizes = (['br', 'gzip'] as const).map((coding) => [coding, forms[coding]?.encoded] as const)
  return Object.fromEntries(
    sizes.flatMap(([coding, bytes]) => (Buffer.isBuffer(bytes) ? [[coding, bytes.length]] : [])),
  )
}
