"""The jar of iceberg_assets/jvm, compiled by the Janino among Spark's own jars: ``make jar``. No JDK is needed."""

import io
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from iceberg_assets.spark.jars import OWN_JAR

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = OWN_JAR.with_name("FlatLocationProvider.java")
# The oldest that Iceberg's runtimes for Spark 3.5, 4.0 and 4.1 run on.
_JAVA = 11
# The first moment that a zip file can hold: the same source makes the same bytes on any day.
_ALWAYS = (1980, 1, 1, 0, 0, 0)


def compiled(spark: "SparkSession") -> bytes:
    """The jar's bytes, with Iceberg's classes as the session has them."""
    jvm = spark._jvm
    assert jvm is not None
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.setSourceVersion(_JAVA)
    compiler.setTargetVersion(_JAVA)
    compiler.cook(SOURCE.name, jvm.java.io.StringReader(SOURCE.read_text()))
    classes = compiler.getBytecodes()
    jar = io.BytesIO()
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(classes):
            archive.writestr(zipfile.ZipInfo(f"{name.replace('.', '/')}.class", _ALWAYS), bytes(classes[name]))
    return jar.getvalue()


if __name__ == "__main__":
    from iceberg_assets.profiles import load_profile
    from iceberg_assets.spark import session

    with tempfile.TemporaryDirectory() as folder:
        OWN_JAR.write_bytes(compiled(session(load_profile("local", Path(folder)))))
    sys.stdout.write(f"{OWN_JAR}: {OWN_JAR.stat().st_size} bytes\n")
