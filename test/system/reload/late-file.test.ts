import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { eventually } from '../../support/eventually.ts'
import { reloadable } from './edge.ts'

t.test('a changed configuration takes effect when a file that it names appears later', async (t) => {
  const { edge, get, logged } = await reloadable(t)
  const [file, secret] = [join(edge.folder, 'edge.yaml'), join(edge.folder, 'secret')]
  const status = async () => (await get(`/agents?search=${Math.random()}`)).status
  const faults = () => logged('configuration not reloaded, the last valid one stays in use')
  const settings = parse(await readFile(file, 'utf8'))
  settings.cluster.credentials = { username: 'edge', passwordFile: secret }
  await writeFile(`${file}.new`, stringify(settings))
  await rename(`${file}.new`, file)
  // The edge has found this change itself, so it has no other reason to read the file again.
  await eventually(() => faults().length > 0)
  t.match(faults(), [{ fault: /secret cannot be read \(ENOENT\)/ }])
  t.equal(await status(), 200, 'the last valid configuration stays in use')
  // Only this file changes, and the configuration in use does not name it.
  await writeFile(secret, 'not-the-password')
  await eventually(async () => (await status()) === 502)
  t.equal(faults().length, 1, 'the fault is reported once, however often the configuration is loaded')
})
