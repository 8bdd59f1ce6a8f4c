/** `src/contracts/items/schemas.json` describes the same fields of an explanation as the code. The compiler compares them. */
import t from 'tap'
import written from '../../../src/contracts/items/schemas.json' with { type: 'json' }
import type { CacheExplanation, InvalidatingWrite } from '../../../src/core/cache.ts'

const described = written.schemas.CacheExplanation

/** One entry may name several fields: `age?, timeLeft?`. */
type NamesIn<Key> = Key extends `${infer First}, ${infer Rest}`
  ? NamesIn<First> | NamesIn<Rest>
  : Key extends `${infer Name}?`
    ? Name
    : Key

/** An object with a member for each field that one of both lacks: the compiler refuses `{}` and names the field. */
type MissingInSchemasJsonOrCode<Type, Form> = Readonly<
  Record<Exclude<keyof Type, NamesIn<keyof Form>> | Exclude<NamesIn<keyof Form>, keyof Type>, never>
>

t.test('each field of an explanation is described', async (t) => {
  const all: MissingInSchemasJsonOrCode<CacheExplanation, typeof described> = {}
  const ofNext: MissingInSchemasJsonOrCode<CacheExplanation['next'], (typeof described)['next?']> = {}
  const ofWrite: MissingInSchemasJsonOrCode<InvalidatingWrite, (typeof described)['invalidatedBy?'][number]> = {}
  t.strictSame([all, ofNext, ofWrite], [{}, {}, {}])
})
