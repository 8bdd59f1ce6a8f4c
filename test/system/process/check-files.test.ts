import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { configFolder } from './config.ts'
import { result } from './program.ts'

t.test('check finds files that cannot be used, and creates none', async (t) => {
  const { folder, file, createKey, write } = await configFolder(t)
  await createKey()
  write({}, { audit: { file: 'audit.jsonl' } })
  t.equal((await result(t, ['check', '--config', file])).code, 0)
  t.notOk(existsSync(join(folder, 'audit.jsonl')), 'check does not create the audit file')
  write({}, { audit: { file: 'subfolder' } })
  const nowhere = await result(t, ['check', '--config', file])
  t.equal(nowhere.code, 2)
  t.match(nowhere.err, /^edge\.yaml:\d+:\d+ audit\.file: \S+ is a folder; name a file in it/)

  write()
  writeFileSync(join(folder, 'users'), 'no colon\n')
  const broken = await result(t, ['check', '--config', file])
  t.equal(broken.code, 1)
  t.match(broken.err, /users file .* line 1: no colon/)
})
