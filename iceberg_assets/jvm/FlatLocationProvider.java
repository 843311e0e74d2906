package iceberg_assets.jvm;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.LocationProviders;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.io.LocationProvider;

/**
 * Data files in folders of some of the partition fields only; the table keeps its whole partition spec.
 *
 * <p>{@code write.location-provider.flat.fields} lists them, by the name of the field ({@code ts_day}) or of the column that it
 * is made from ({@code ts}), with commas between. Listed are those that a path shows, in the order of the spec; an empty list
 * puts every file directly into the data folder. Where the table does not have the property, Iceberg's own layout is in force.
 *
 * <p>Wherever files may go, and how names and values are spelled, is asked of Iceberg itself. The casts are for Janino, which
 * compiles this where there is no JDK, and which knows no type parameters.
 */
public class FlatLocationProvider implements LocationProvider {
  static final String FIELDS = "write.location-provider.flat.fields";

  private final LocationProvider iceberg;
  private final List<String> listed;

  public FlatLocationProvider(String tableLocation, Map<String, String> properties) {
    Map<String, String> own = new HashMap<String, String>(properties);
    own.remove(TableProperties.WRITE_LOCATION_PROVIDER_IMPL);
    this.listed = own.containsKey(FIELDS) ? split((String) own.get(FIELDS)) : null;
    if (listed != null) {
      // Its folders of hashes would tear apart what the listed fields hold together.
      own.remove(TableProperties.OBJECT_STORE_ENABLED);
    }
    this.iceberg = LocationProviders.locationsFor(tableLocation, own);
  }

  @Override
  public String newDataLocation(String filename) {
    return iceberg.newDataLocation(filename);
  }

  @Override
  public String newDataLocation(PartitionSpec spec, StructLike partition, String filename) {
    if (listed == null) {
      return iceberg.newDataLocation(spec, partition, filename);
    }
    requireKnown(spec);
    // Names and values are escaped, so that a slash separates two fields and nothing else.
    String[] folders = spec.partitionToPath(partition).split("/");
    StringBuilder path = new StringBuilder();
    for (int i = 0; i < spec.fields().size(); i += 1) {
      PartitionField field = (PartitionField) spec.fields().get(i);
      if (listed.contains(field.name()) || listed.contains(spec.schema().findColumnName(field.sourceId()))) {
        path.append(folders[i]).append("/");
      }
    }
    return iceberg.newDataLocation(path.append(filename).toString());
  }

  /**
   * A column that is no part of this spec may be one of an older or a newer spec, whose files are written too when their rows
   * are deleted; what is neither a field nor a column is a mistake.
   */
  private void requireKnown(PartitionSpec spec) {
    List<String> fields = new ArrayList<String>();
    for (int i = 0; i < spec.fields().size(); i += 1) {
      fields.add(((PartitionField) spec.fields().get(i)).name());
    }
    for (int i = 0; i < listed.size(); i += 1) {
      String name = (String) listed.get(i);
      if (!fields.contains(name) && spec.schema().findField(name) == null) {
        throw new IllegalArgumentException(
            FIELDS + " lists '" + name + "', which is neither a partition field nor a column of the table. Its partition fields"
                + " are " + String.join(", ", fields) + ". Mend the list with ALTER TABLE ... SET TBLPROPERTIES");
      }
    }
  }

  private static List<String> split(String list) {
    List<String> names = new ArrayList<String>();
    String[] parts = list.split(",");
    for (int i = 0; i < parts.length; i += 1) {
      if (!parts[i].trim().isEmpty()) {
        names.add(parts[i].trim());
      }
    }
    return names;
  }
}
