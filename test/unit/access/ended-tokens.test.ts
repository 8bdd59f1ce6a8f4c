/** Which tokens a write ends, by its record and its outcome. */
import t from 'tap'
import { createEndedTokens } from '../../../src/access/ended-tokens.ts'
import { createRevocationList } from '../../../src/access/revocations.ts'
import type { V4Write } from '../../../src/contracts/endpoint.ts'
import { EdgeError } from '../../../src/core/errors.ts'
import type { EdgeWrite } from '../../../src/core/request.ts'
import type { EdgeResponse } from '../../../src/core/response.ts'

const tokens = [
  { user: 'ann', roles: [1, 2] },
  { user: 'bob', roles: [2] },
  { user: 'eve', roles: [] },
] as const

const rows = (affected_items: unknown, error = 0) => ({ data: { affected_items }, error })

/** `ended`: the users whose tokens have ended. */
const outcomes: readonly {
  readonly what: string
  readonly ends?: V4Write['endsTokens']
  readonly response: object | Error
  readonly status?: number
  readonly ended: readonly string[]
}[] = [
  { what: 'a write that ends no tokens', response: rows([{ username: 'ann' }]), ended: [] },
  { what: 'a log-out', ends: 'caller', response: { message: 'out', error: 0 }, ended: ['eve'] },
  { what: 'a refused log-out', ends: 'caller', response: { title: 'Forbidden' }, status: 403, ended: [] },
  { what: 'all tokens', ends: 'all', response: { message: 'revoked', error: 0 }, ended: ['ann', 'bob', 'eve'] },
  {
    what: 'users',
    ends: 'users',
    response: rows([{ username: 'ann' }, { username: 'eve' }], 2),
    ended: ['ann', 'eve'],
  },
  { what: 'roles', ends: 'roles', response: rows([{ id: 1 }]), ended: ['ann'] },
  {
    what: 'roles of policies',
    ends: 'rolesOfRows',
    response: rows([{ roles: [7, 2] }, { roles: [] }]),
    ended: ['ann', 'bob'],
  },
  { what: 'nothing changed', ends: 'users', response: rows([], 1), ended: [] },
  { what: 'an error without rows', ends: 'users', response: { error: 4000 }, ended: [] },
  { what: 'rows without the name', ends: 'users', response: rows([{ id: 5 }]), ended: ['ann', 'bob', 'eve'] },
  {
    what: 'success without rows',
    ends: 'roles',
    response: { message: 'done', error: 0 },
    ended: ['ann', 'bob', 'eve'],
  },
  { what: 'unknown outcome', ends: 'users', response: new EdgeError(923), ended: ['ann', 'bob', 'eve'] },
  { what: 'unknown outcome of a creation', ends: 'newUsers', response: new EdgeError(923), ended: [] },
  { what: 'a creation', ends: 'newUsers', response: rows([{ username: 'ann' }]), ended: ['ann'] },
  { what: 'not sent', ends: 'users', response: new EdgeError(921), ended: [] },
]

t.test('a write ends the tokens that it concerns, and all if that is not known', async (t) => {
  for (const { what, ends, response, status = 200, ended } of outcomes) {
    const clock = { wall: () => 5_000, elapsed: () => 0 }
    const { stage, hasEnded } = createEndedTokens(createRevocationList(clock), clock)
    const handler = stage(async () => {
      if (response instanceof Error) throw response
      return {
        kind: 'envelope',
        status,
        body: Buffer.from(JSON.stringify(response)),
        errorNumber: 0,
        origin: { kind: 'edge' },
      } as EdgeResponse
    })
    const endpoint = { ...(ends !== undefined && { endsTokens: ends }) }
    const result = Promise.resolve(handler({ endpoint, caller: { name: 'eve' } } as EdgeWrite))
    if (response instanceof Error) await t.rejects(result, response)
    else await result
    const found = tokens.filter((token) => hasEnded(token, 5_000)).map(({ user }) => user)
    t.same(found, ended, what)
    t.notOk(
      tokens.some((token) => hasEnded(token, 5_001)),
      `${what}: tokens that are issued later`,
    )
  }
})

t.test('a log-out that the other replicas will not read is an error, another write is not', async (t) => {
  const clock = { wall: () => 5_000, elapsed: () => 0 }
  for (const [endsTokens, fails] of [
    ['caller', true],
    ['all', false],
  ] as const) {
    const { stage, hasEnded } = createEndedTokens(
      createRevocationList(clock, async () => false),
      clock,
    )
    const handler = stage(
      async () =>
        ({
          kind: 'envelope',
          status: 200,
          body: Buffer.from('{"error":0}'),
          errorNumber: 0,
          origin: { kind: 'edge' },
        }) as EdgeResponse,
    )
    const result = Promise.resolve(handler({ endpoint: { endsTokens }, caller: { name: 'eve' } } as EdgeWrite))
    if (fails) await t.rejects(result, { code: 944 })
    else await result
    t.ok(hasEnded({ user: 'eve', roles: [] }, 5_000))
  }
})
