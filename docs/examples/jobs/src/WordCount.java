import java.util.Arrays;

import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

import scala.Tuple2;

/** Counts words: WordCount INPUT OUTPUT. */
public final class WordCount {
  public static void main(String[] arguments) {
    try (JavaSparkContext spark = new JavaSparkContext(new SparkConf().setAppName("word count"))) {
      spark.textFile(arguments[0])
          .flatMap(line -> Arrays.asList(line.split(" ")).iterator())
          .mapToPair(word -> new Tuple2<>(word, 1))
          .reduceByKey(Integer::sum)
          .map(count -> count._1() + "\t" + count._2())
          .saveAsTextFile(arguments[1]);
    }
  }
}
