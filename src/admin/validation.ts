/** Validators of the operations listener. A schema is compiled when it is first used, so that no start waits for it. */
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv'

/** Returns whether a value matches a schema; then `errors` are those of the last call. */
export interface Validator {
  (value: unknown): boolean
  errors?: ErrorObject[] | null
}

// The schemas are constants of this room. `test/unit/admin/schemas.test.ts` checks them.
const constant: Options = { meta: false, validateSchema: false, addUsedSchema: false }

/** Validates what a program sent: nothing is converted. */
export const validatorOf = createCompiler(constant)

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
