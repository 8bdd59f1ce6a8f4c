import t from 'tap'
import { CallerRights } from '../../../src/access/caller-rights.ts'
import { createMemoryStore } from '../../../src/cache/stores/memory-store.ts'
import type { Caller } from '../../../src/core/request.ts'

const ann: Caller = { name: 'ann', permissions: [], rights: 'white 1' }
const NEEDED = [['rules:update on *:*:*']]
const READS = { 'agent:read': { 'agent:id:*': 'allow' }, 'rules:update': { '*:*:*': 'deny' }, rbac_mode: 'white' }

function known(ask: (caller: Caller) => Promise<unknown>, lifetime = 60_000) {
  const store = createMemoryStore({ bytes: () => 1 << 20 })
  let asked = 0
  const rights = new CallerRights({
    store,
    ask: (caller) => {
      asked += 1
      return ask(caller)
    },
    lifetime,
    node: () => 'master',
  })
  return { store, refusalOf: rights.refusalOf.bind(rights), asked: () => asked }
}

const decisions: Readonly<
  Record<string, readonly [policies: unknown, needed: readonly (readonly string[])[], refused: boolean]>
> = {
  'no policy allows the action': [READS, NEEDED, true],
  'no policy at all': [{ rbac_mode: 'white' }, NEEDED, true],
  'one object is allowed': [{ ...READS, 'rules:update': { 'rule:file:a': 'allow' } }, NEEDED, false],
  'one of two needed actions is allowed': [READS, [['agent:read on agent:id:1', 'agent:delete on agent:id:1']], true],
  'one of two alternatives is allowed': [READS, [...NEEDED, ['agent:read on agent:id:1']], false],
  'no alternative is allowed': [READS, [...NEEDED, ['lists:update on *:*:*']], true],
  'it is not known what is needed': [READS, [], false],
  'without a cluster the action has another name': [
    { 'manager:restart': { '*:*:*': 'allow' }, rbac_mode: 'white' },
    [['cluster:restart on node:id:{node_id}, *:*:*']],
    false,
  ],
  'what no policy names is allowed': [{ ...READS, rbac_mode: 'black' }, NEEDED, false],
  'no mode': [{}, NEEDED, false],
  'no object': ['x', NEEDED, false],
  'no answer': [undefined, NEEDED, false],
}

for (const [name, [policies, needed, isRefused]] of Object.entries(decisions)) {
  t.test(`${name}: ${isRefused ? 'refused' : 'passed on'}`, async (t) => {
    const { refusalOf } = known(async () => policies)
    // The second time it may be known.
    for (const time of [1, 2]) {
      const refusal = await refusalOf(ann, needed)
      t.equal(refusal !== undefined, isRefused, `time ${time}`)
      if (isRefused) t.match(refusal, { status: 403, number: 4000, detail: /^Permission denied: Resource type: \S+$/ })
    }
  })
}

t.test('a node that fails or is silent decides nothing', async (t) => {
  t.equal(await known(() => Promise.reject(new Error('unreachable'))).refusalOf(ann, NEEDED), undefined)
  t.equal(await known(() => new Promise(() => undefined)).refusalOf(ann, NEEDED), undefined)
})

t.test('one call serves those that wait, and those with the same rights while it holds', async (t) => {
  const { refusalOf, asked, store } = known(async () => READS)
  const again = () => refusalOf({ ...ann, name: 'amy' }, NEEDED)
  t.strictSame((await Promise.all([refusalOf(ann, NEEDED), again()])).map(Boolean), [true, true])
  t.ok(await again())
  t.equal(asked(), 1)
  const { name, permissions } = ann
  t.ok(await refusalOf({ name, permissions }, NEEDED))
  t.equal(asked(), 2, 'a user that is known by name alone')
  for (const [tag, calls] of [
    ['tokens:ann', 3],
    ['rights', 5],
  ] as const) {
    const fence = await store.fence([tag])
    await fence.lift([])
    t.ok(await again())
    t.ok(await refusalOf({ name, permissions }, NEEDED))
    t.equal(asked(), calls, `a write of ${tag}`)
  }
})

t.test('it holds for its lifetime', async (t) => {
  const { refusalOf, asked } = known(async () => READS, 0)
  t.ok(await refusalOf(ann, NEEDED))
  t.ok(await refusalOf(ann, NEEDED))
  t.equal(asked(), 2)
})
