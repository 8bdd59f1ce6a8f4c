/** The canonical text of a value is valid, and is its own canonical text. */
import fc from 'fast-check'
import t from 'tap'
import { EdgeError } from '../../../../src/core/errors.ts'
import { checkParam } from '../../../../src/http/v4/check-values.ts'
import { ofRelease, parameters, text } from './parameters.ts'

/** Returns `undefined` for a value that is refused. */
function canonical(param: (typeof parameters)[number], value: string): string | undefined {
  try {
    return checkParam(param, { name: 'name', text: value, place: 'query' }, ofRelease)
  } catch (error) {
    if (error instanceof EdgeError) return undefined
    throw error
  }
}

t.test('a canonical value does not change when it is checked again', async (t) => {
  t.ok(parameters.length > 50, `${parameters.length} kinds of values`)
  let accepted = 0
  const property = fc.property(fc.constantFrom(...parameters), text, (param, value) => {
    const once = canonical(param, value)
    if (once === undefined) return true
    accepted += 1
    return canonical(param, once) === once
  })
  fc.assert(property, { numRuns: 20_000 })
  t.ok(accepted > 1_000, `${accepted} accepted values`)
})

t.test('a long integer keeps all its digits', async (t) => {
  const [integer] = parameters.filter(({ value }) => value?.type === 'integer' && value.maximum === undefined)
  if (integer === undefined) return void t.fail('no integer without a maximum')
  t.equal(canonical(integer, '+00123456789012345678901234567890'), '123456789012345678901234567890')
})
