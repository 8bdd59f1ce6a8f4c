/** The packages that `npm run package` writes. They are built once for all checks, and once more to compare the bytes. */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import t from 'tap'
import { buildPackages, requirePrograms, run } from './packages/build.ts'
import { checkDebianPackage } from './packages/debian.ts'
import { checkImageLayout } from './packages/image-layout.ts'
import { checkRpm } from './packages/rpm.ts'

requirePrograms()
/** Outside of the repository, whose folder may be closed for other users. */
const folder = mkdtempSync(join(tmpdir(), 'edge-packages-'))
chmodSync(folder, 0o755)
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const packages = await buildPackages(folder)

t.test('the Debian package', (t) => checkDebianPackage(t, packages))
t.test('the rpm', (t) => checkRpm(t, packages))
t.test('the image layout', (t) => checkImageLayout(t, packages))
t.test('the command prints what it writes, and the same sources give the same bill of materials', async (t) => {
  const { first, second } = packages
  t.strictSame(first.printed.map((path) => basename(path)).sort(), readdirSync(first.output).sort())
  t.ok(readFileSync(second.sbom).equals(readFileSync(first.sbom)))
})
t.test('a build that fails leaves what is there', async (t) => {
  const { deb } = packages.first
  const before = readFileSync(deb)
  t.throws(() => run('packaging/rpm/build', deb), /File exists/, 'a file in place of the folder')
  t.ok(readFileSync(deb).equals(before))
})
