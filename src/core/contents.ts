/** What an answer says: for the few who must look inside one. */
import { COLON, skipSpace } from './json-scan.ts'
import { errorNumber } from './envelope.ts'
import type { Answer } from './ports.ts'

export interface Contents {
  readonly error: number
  readonly message?: string
  readonly data?: unknown
}

/** Nodes write the envelope compact and `error` first, so most answers need not be parsed to be known as good. */
const GOOD = Buffer.from('{"error":0,"data":')
const NAME = Buffer.from('"error"')
/** The framework's own for what it cannot name (contract/errors.yaml). */
const UNNAMED = 1000

/** The number of an answer's error; 0: it is good. */
export function errorOf(answer: Answer): number {
  if (answer.kind !== 'json' || isPlainlyGood(answer.bytes)) return 0
  return contentsOf(answer).error
}

function isPlainlyGood(bytes: Buffer): boolean {
  return bytes.subarray(0, GOOD.length).equals(GOOD) && !namesAnError(bytes, GOOD.length)
}

/** Of a name that comes twice, clients take the last. As a value it is no more than the level of a log. */
function namesAnError(bytes: Buffer, from: number): boolean {
  for (let at = bytes.indexOf(NAME, from); at >= 0; at = bytes.indexOf(NAME, at + NAME.length)) {
    if (bytes[skipSpace(bytes, at + NAME.length)] === COLON) return true
  }
  return false
}

/** The envelope was checked when it came. */
export function contentsOf(answer: Answer): Contents {
  if (answer.kind !== 'json') return { error: 0 }
  const { error, message, data } = JSON.parse(answer.bytes.toString()) as Readonly<Record<string, unknown>>
  return {
    error: errorNumber(error) ?? UNNAMED,
    ...(typeof message === 'string' && { message }),
    ...(data !== undefined && { data }),
  }
}

/** The value of an object's own field; foreign input may be anything. */
export function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Readonly<Record<string, unknown>>)[name]
}

export function textField(value: unknown, name: string): string | undefined {
  const found = field(value, name)
  return typeof found === 'string' ? found : undefined
}
