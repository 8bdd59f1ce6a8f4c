/** Validators of reports and of the console API. A schema is compiled when it is first used, so that no start waits for it. */
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv'
import type { Static, TSchema } from 'typebox'
import { parseJson } from '../core/values.ts'

/** Returns whether a value matches a schema; then `errors` are those of the last call. */
interface Validator {
  (value: unknown): boolean
  errors?: ErrorObject[] | null
}

// The schemas are constants of this room and of the console. `test/unit/admin/schemas.test.ts` checks them. To optimize the code
// of a function takes longer than to write it, and requests wait meanwhile.
const constant: Options = { meta: false, validateSchema: false, addUsedSchema: false, code: { optimize: false } }

const compileStrictly = createCompiler(constant)

/** Returns whether a value that a program sent matches the schema. Nothing is converted. */
export function validatorOf<Schema extends TSchema>(schema: Schema): (value: unknown) => value is Static<Schema> {
  return compileStrictly(schema) as (value: unknown) => value is Static<Schema>
}

/** Returns a function that parses JSON. It returns undefined if the text is too long, no JSON, or does not match the schema. */
export function parserOf<Schema extends TSchema>(
  schema: Schema,
  maxChars: number,
): (text: string) => Static<Schema> | undefined {
  const isValid = validatorOf(schema)
  return (text) => {
    const value = text.length > maxChars ? undefined : parseJson(text)
    return isValid(value) ? value : undefined
  }
}

/** For requests: unknown properties are refused instead of removed. Numbers in a query arrive as text and are converted. */
export const requestValidatorOf = createCompiler({ ...constant, coerceTypes: true, useDefaults: true })

function createCompiler(options: Options): (schema: object) => Validator {
  let ajv: Ajv | undefined
  return (schema) => {
    let compiled: ValidateFunction | undefined
    const validate: Validator = (value) => {
      if (compiled === undefined) {
        ajv ??= new Ajv(options)
        compiled = ajv.compile(schema)
      }
      const isValid = compiled(value)
      validate.errors = compiled.errors ?? null
      return isValid
    }
    return validate
  }
}
