/**
 * File + environment → one frozen, validated `Config`. The only reader of the environment.
 */
import type { Static } from 'typebox'
import type { settings } from './config/schema.ts'

export { readyMadeRoles } from './config/schema.ts'

type Frozen<T> = T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T
type Settings = Frozen<Static<typeof settings>>

/** Every setting, defaults filled in: durations in milliseconds, sizes in bytes, paths absolute, secrets read. */
export type Config = Settings
