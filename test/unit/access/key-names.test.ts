import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { createKeyFile, watchSigningKeys } from '../../../src/access/signing-keys.ts'

async function folder(t: Test): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'edge-keys-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  return path
}

t.test('of several keys that are made within one second, the last one signs', async (t) => {
  const keys = await folder(t)
  let last = ''
  for (let each = 0; each < 10; each += 1) last = await createKeyFile(keys)
  const ring = await watchSigningKeys(keys, () => {})
  t.teardown(() => ring.close())
  t.equal(`${ring.signingKey().kid}.pem`, basename(last))
})

t.test('a key that would not sign is not made', async (t) => {
  const keys = await folder(t)
  await writeFile(join(keys, 'production.pem'), '')
  await t.rejects(createKeyFile(keys), { message: /production\.pem sorts after every name of now; rename it/ })
})
