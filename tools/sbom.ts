/**
 * Writes sbom.cdx.json: what a production install consists of, as CycloneDX. It is npm's own, made of package-lock.json
 * alone, so that it needs no network and says what `npm ci --omit=dev` installs.
 *
 * npm's own `--omit dev` is not used: it leaves out a package of production that one of development needs as well
 * (`pg`, which comes with the PostgreSQL of the tests too). npm marks what is there for development only: by that.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FILE = 'sbom.cdx.json';
const OPTIONS = ['--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
const DEVELOPMENT = 'cdx:npm:package:development';
/** Longer than any; npm's default for a child's output is 1 MiB. */
const OUTPUT_BYTES = 64 * 1024 * 1024;

type Component = { 'bom-ref': string; properties?: { name: string; value: string }[] };
type Bom = { components: Component[]; dependencies: { ref: string; dependsOn?: string[] }[] };

const text = execFileSync('npm', ['sbom', ...OPTIONS], {
  cwd: ROOT,
  maxBuffer: OUTPUT_BYTES,
  encoding: 'utf8',
});
const bom = withoutDevelopment(JSON.parse(text) as Bom);
writeFileSync(`${ROOT}${FILE}`, `${JSON.stringify(bom, null, 2)}\n`);
console.log(`${FILE}: ${bom.components.length} packages`);

function withoutDevelopment(bom: Bom): Bom {
  const isDevelopment = ({ properties = [] }: Component): boolean =>
    properties.some(({ name, value }) => name === DEVELOPMENT && value === 'true');
  const left = new Set(bom.components.filter(isDevelopment).map((component) => component['bom-ref']));
  const isKept = (ref: string): boolean => !left.has(ref);
  return {
    ...bom,
    components: bom.components.filter((component) => isKept(component['bom-ref'])),
    dependencies: bom.dependencies
      .filter(({ ref }) => isKept(ref))
      .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter(isKept) })),
  };
}
