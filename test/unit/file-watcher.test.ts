import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { fingerprintFile, watchFiles } from '../../src/file-watcher.ts'
import { eventually } from '../support/eventually.ts'

t.test('a fault is reported once, however often the file changes, until the file is valid again', async (t) => {
  const folder = t.testdir({ file: 'good' })
  const file = join(folder, 'file')
  const faults: string[] = []
  let loads = 0
  const watched = await watchFiles({
    folder,
    fingerprint: () => fingerprintFile(file),
    load: async () => {
      loads += 1
      const text = await readFile(file, 'utf8')
      if (!text.startsWith('good')) throw new Error(`the file starts with ${text.slice(0, 3)}`)
      return text
    },
    onError: (error) => void faults.push(String(error)),
  })
  t.teardown(() => watched.close())
  const put = async (text: string) => {
    const before = loads
    await writeFile(`${file}.new`, text)
    await rename(`${file}.new`, file)
    await eventually(() => loads > before)
  }
  for (const text of ['bad 1', 'bad 2', 'bad 3']) await put(text)
  t.equal(watched.current(), 'good')
  await put('ill 1')
  t.match(faults[0], /starts with bad/)
  await eventually(() => faults.length === 2)
  t.match(faults[1], /starts with ill/, 'another fault')
  await put('good again')
  await eventually(() => watched.current() === 'good again')
  await put('ill 2')
  await eventually(() => faults.length === 3)
  t.match(faults[2], /starts with ill/, 'the same fault after the file was valid')
})
