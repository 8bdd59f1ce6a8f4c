/** The words that the schema of the settings is written in. */
import Type, { type TSchema } from 'typebox'

/** Written `750ms`, `5s`, `2m` or `1h`; read as milliseconds. */
export const duration = (value: string) => Type.Unsafe<number>({ type: 'string', format: 'duration', default: value })
/** Written `512B`, `16KiB` or `64MiB`; read as bytes. */
export const size = (value: string) => Type.Unsafe<number>({ type: 'string', format: 'size', default: value })
/** A duration that may be nothing. */
export const delay = (value: string) => Type.Unsafe<number>({ type: 'string', format: 'delay', default: value })
export const count = (value: number, maximum = 1_000_000) => Type.Integer({ minimum: 1, maximum, default: value })
/** Any number from 0 on. */
export const amount = (value: number, maximum: number) => Type.Number({ minimum: 0, maximum, default: value })
export const port = (value: number) => Type.Integer({ minimum: 0, maximum: 65_535, default: value })
export const flag = (value: boolean) => Type.Boolean({ default: value })
export const path = () => Type.String({ format: 'path', minLength: 1 })
export const text = (options: { default?: string; format?: string; secret?: true } = {}) =>
  Type.String({ minLength: 1, maxLength: 4096, ...options })
export const list = <T extends TSchema>(items: T, value: string[] = []) =>
  Type.Array(items, { maxItems: 1000, default: value })
export const oneOf = <const T extends string>(values: readonly [T, ...T[]]) =>
  Type.Unsafe<T>({ type: 'string', enum: values, default: values[0] })
/** A closed object. Its default makes the defaults of its members hold when it is not written at all. */
export const group = <T extends Record<string, TSchema>>(members: T) =>
  Type.Object(members, { additionalProperties: false, default: {} })
export const row = <T extends Record<string, TSchema>>(members: T, description?: string) =>
  Type.Object(members, { additionalProperties: false, ...(description === undefined ? {} : { description }) })
/** Names that the operator chooses. */
export const tableOf = <T extends TSchema>(values: T, options: { default?: object } = {}) =>
  Type.Record(Type.String({ pattern: '^[^\\x00-\\x20:]{1,128}$' }), values, { additionalProperties: false, ...options })
export const table = <T extends TSchema>(values: T) => tableOf(values, { default: {} })
