/** The names of the response schemas. Records name them, and the compiler refuses an unknown name. */
import type { cacheSchemas } from './cache.ts'
import type written from './schemas.json'

export type SchemaName = keyof typeof written.schemas | keyof typeof cacheSchemas
