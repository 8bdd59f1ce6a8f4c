/** A value that is accepted stays one segment of the path, or one parameter of the query, of the call to the node. */

import fc from 'fast-check'
import t from 'tap'
import { EdgeError } from '../../../../src/core/errors.ts'
import { checkParam } from '../../../../src/http/v4/check-values.ts'
import { fillPath } from '../../../../src/layouts/call-path.ts'
import { formatQuery } from '../../../../src/layouts/v4/request-line.ts'
import { ofRelease, parameters, text } from './parameters.ts'

/** Returns the call for a value in the path and in the query; `undefined`: it is refused. */
function callOf(
  param: (typeof parameters)[number],
  value: string,
): { readonly sent: string; readonly url: string } | undefined {
  try {
    const sent = checkParam(param, { name: 'value', text: value, place: 'path' }, ofRelease)
    return { sent, url: fillPath('/before/:value/after', { value: sent }) + formatQuery({ other: '1', value: sent }) }
  } catch (error) {
    if (error instanceof EdgeError) return undefined
    throw error
  }
}

t.test('a value does not change the path of the call, nor other parameters', async (t) => {
  let accepted = 0
  const property = fc.property(fc.constantFrom(...parameters), text, (param, value) => {
    const call = callOf(param, value)
    if (call === undefined) return true
    accepted += 1
    const { pathname, searchParams, hash } = new URL(call.url, 'http://node')
    const [, before, segment = '', after, ...more] = pathname.split('/')
    const query = Object.fromEntries(searchParams)
    return (
      before === 'before' &&
      after === 'after' &&
      more.length === 0 &&
      hash === '' &&
      decodeURIComponent(segment) === call.sent &&
      Object.keys(query).length === 2 &&
      query.other === '1' &&
      query.value === call.sent
    )
  })
  fc.assert(property, { numRuns: 20_000 })
  t.ok(accepted > 1_000, `${accepted} accepted values`)
})
