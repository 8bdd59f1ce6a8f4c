/** What an answer says: for the few who must look inside one. */
import type { Answer } from './ports.ts'

export interface Contents {
  readonly error: number
  readonly message?: string
  readonly data?: unknown
}

/** The envelope was checked when it came; an error in words counts as one without a known number. */
export function contentsOf(answer: Answer): Contents {
  if (answer.kind !== 'json') return { error: 0 }
  const { error, message, data } = JSON.parse(answer.bytes.toString()) as Readonly<Record<string, unknown>>
  const number = Number(error)
  return {
    error: Number.isSafeInteger(number) ? number : 1000,
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
