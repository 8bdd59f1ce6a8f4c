/** Tokens of the manager that differ in their times alone are of one series: one check covers those issued at the same time and later. */
import t from 'tap'
import { readManagerToken } from '../../../src/access/manager-token-access.ts'

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
const NBF = 1_700_000_000

function tokenOf(claims: object) {
  const all = { nbf: NBF, exp: NBF + 900, sub: 'ann', run_as: false, rbac_roles: [1], rbac_mode: 'white', ...claims }
  const token = readManagerToken(`${encode({ alg: 'ES512', typ: 'JWT' })}.${encode(all)}.c2ln`, 'master')
  if (token === undefined) throw new Error('no token')
  return token
}

t.test('tokens of release 5.0 are of one series, in the order of their milliseconds', async (t) => {
  const first = tokenOf({ nbf_ms: 1000 * NBF + 100 })
  const sameSecond = tokenOf({ nbf_ms: 1000 * NBF + 800 })
  const later = tokenOf({ nbf: NBF + 60, exp: NBF + 960, nbf_ms: 1000 * (NBF + 60) + 5 })
  t.equal(sameSecond.series, first.series)
  t.equal(later.series, first.series)
  t.strictSame(
    [first, sameSecond, later].map(({ issuedAt }) => issuedAt - 1000 * NBF),
    [100, 800, 60_005],
  )
})

t.test('tokens of other claims are of another series', async (t) => {
  const { series } = tokenOf({ nbf_ms: 1000 * NBF })
  for (const claims of [{ sub: 'bob' }, { rbac_roles: [1, 2] }, { run_as: true }, { exp: NBF + 800 }])
    t.not(tokenOf({ nbf_ms: 1000 * NBF, ...claims }).series, series)
})

t.test('the time of issue of earlier releases is a whole second', async (t) => {
  t.equal(tokenOf({}).issuedAt, 1000 * NBF)
})
