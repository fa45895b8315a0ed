import { readBuildInfo } from '#shared/lifecycle/build-info';

/** Returns the version line: `almanac 0.3.1 (commit 1a2b3c4, node v20.20.2, linux-x64)`. */
export function versionText(): string {
  const { version, commit } = readBuildInfo();
  return `almanac ${version} (commit ${commit.slice(0, 7)}, node ${process.version}, ${process.platform}-${process.arch})`;
}
