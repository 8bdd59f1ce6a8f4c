/** Ajv as the settings need it. */
import { Ajv, type Options } from 'ajv'
import { formats } from './formats.ts'

/** `code`: how Ajv writes the code of a function. */
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
