/** The packages that `npm run package` writes. They are built once for all checks, and once more to compare the bytes. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { buildPackages, requirePrograms } from './packages/build.ts'
import { checkDebianPackage } from './packages/debian.ts'
import { checkImageLayout } from './packages/image-layout.ts'
import { checkProvenance } from './packages/provenance.ts'
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
t.test('the provenance', (t) => checkProvenance(t, packages))
