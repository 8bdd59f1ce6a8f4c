/** All parameters of the v4 contract, and texts that clients may send for them. */
import fc from 'fast-check'
import type { Param } from '../../../../src/contracts/endpoint.ts'
import { v4Contract } from '../../../../src/contracts/v4/index.ts'
import type { OfRelease } from '../../../../src/http/v4/check-values.ts'

/** A release that has everything. */
export const ofRelease: OfRelease = { isInRelease: () => true, printsSchemas: false }

/** One of each kind of value. */
export const parameters: readonly Param[] = [
  ...new Map(
    v4Contract
      .flatMap(({ params, query }) => [...Object.values(params), ...Object.values(query)])
      .map((param) => [JSON.stringify(param.value), param] as const),
  ).values(),
]

const words = parameters.flatMap(({ value }) => {
  const text = value?.type === 'array' ? value.items : value
  return text?.type === 'string' ? (text.words ?? []) : []
})

const number = fc
  .tuple(
    fc.constantFrom('', '+', '-', ' '),
    fc.stringMatching(/^[0-9_]{1,40}$/),
    fc.constantFrom('', '.5', 'e3', 'e999', ' '),
  )
  .map((parts) => parts.join(''))

const piece = fc.oneof(
  number,
  fc.constantFrom(
    ...words,
    'TRUE',
    'False',
    '001',
    'all',
    '..',
    '.',
    '%2e%2e',
    '%2F',
    'a/b',
    '/',
    '\\',
    'etc/rules',
    'x.xml',
  ),
  fc.stringMatching(/^[\w.%/\\:+ -]{0,12}$/),
  fc.string({ unit: 'binary', maxLength: 8 }),
)

/** Texts near those that are valid, and any others. */
export const text = fc
  .array(piece, { minLength: 1, maxLength: 3 })
  .chain((pieces) => fc.constantFrom(pieces.join(','), pieces.join('')))
