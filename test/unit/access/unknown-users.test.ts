import { hash, verify } from '@node-rs/bcrypt'
import t from 'tap'
import { createPasswordVerifier } from '../../../src/access/passwords.ts'

t.test('an unknown user costs the same work as a known one: one comparison, at a cost of the file', async (t) => {
  const hashes = new Map<string, string>()
  for (const [name, cost] of [
    ['ann', 4],
    ['bob', 6],
  ] as const)
    hashes.set(name, await hash(`${name}-pw`, cost))
  const compared: string[] = []
  const check = createPasswordVerifier(
    { hashOf: (name) => hashes.get(name), hashes: () => [...hashes.values()] },
    async (password, bcryptHash) => {
      compared.push(bcryptHash)
      return verify(password, bcryptHash)
    },
  )
  const workOf = async (name: string, password: string) => {
    compared.length = 0
    t.equal(await check({ username: name, password: password }, '::1'), false, name)
    return compared.map((bcryptHash) => /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(bcryptHash)?.[1])
  }
  t.same(await workOf('ann', 'wrong'), ['04'])
  t.same(await workOf('bob', 'wrong'), ['06'])
  const costs = new Set<string | undefined>()
  for (let index = 0; index < 40; index++) {
    const work = await workOf(`unknown ${index}`, 'wrong')
    t.equal(work.length, 1)
    t.same(await workOf(`unknown ${index}`, 'another'), work, 'the same cost each time')
    costs.add(work[0])
  }
  t.same([...costs].sort(), ['04', '06'], 'the costs of the file, so that a cost names no user')
  t.same(await workOf('ann', 'x'.repeat(73)), await workOf('unknown', 'x'.repeat(73)), 'too long a password')
  t.equal(await check({ username: 'ann', password: 'ann-pw' }, '::1'), true)
})

t.test('in an empty file, an unknown user costs one comparison', async (t) => {
  let count = 0
  const check = createPasswordVerifier({ hashOf: () => undefined, hashes: () => [] }, async (password, bcryptHash) => {
    count += 1
    return verify(password, bcryptHash)
  })
  t.equal(await check({ username: 'anyone', password: 'guess' }, '::1'), false)
  t.equal(count, 1)
})
