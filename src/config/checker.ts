/**
 * The function that checks a tree of settings and fills in the defaults, from Ajv. Ajv needs a tenth of a second to write its
 * code, so `npm run build` does that ahead of time, and replaces this file with the code (src/build.mjs).
 */
import { Ajv, type Options, type ValidateFunction } from 'ajv'
import { formats } from './formats.ts'
import { schema } from './schema.ts'

let compiled: ValidateFunction | undefined

export function settingsChecker(): ValidateFunction {
  // The function runs a few times. Optimizing it would take longer than all of its runs.
  compiled ??= createAjv({ optimize: false }).compile(schema)
  return compiled
}

/** Returns Ajv as the settings need it. `code`: how it writes the code of a function. */
export function createAjv(code: NonNullable<Options['code']>): Ajv {
  const ajv = new Ajv({
    allErrors: true,
    useDefaults: true,
    strict: true,
    validateSchema: false,
    meta: false,
    keywords: ['secret', 'effect', 'readable', 'bounds'],
    code,
  })
  for (const [name, { validate }] of Object.entries(formats)) ajv.addFormat(name, { validate })
  return ajv
}
