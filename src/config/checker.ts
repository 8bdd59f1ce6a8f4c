/**
 * The function that checks a tree of settings and fills in the defaults, from Ajv. Ajv needs a tenth of a second to write its
 * code, so `npm run build` does that ahead of time, and replaces this file with the code (src/build.mjs).
 */
import type { ValidateFunction } from 'ajv'
import { createAjv } from './ajv.ts'
import { schema } from './schema.ts'

let compiled: ValidateFunction | undefined

export function settingsChecker(): ValidateFunction {
  // The function runs a few times. Optimizing it would take longer than all of its runs.
  compiled ??= createAjv({ optimize: false }).compile(schema)
  return compiled
}
